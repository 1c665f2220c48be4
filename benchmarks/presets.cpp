// What each preset runs: of every family a line or several, and in each line the values that axes take; and
// how each preset samples.
//
//   family
//     presets…   axis=values axis=values …
//
// A line stands for every combination of its values; what cannot be (an offset that a width does not divide)
// is left out, and a case of two lines runs once. An axis that a line does not name has the value that its
// family declares; `grainscope --explain FAMILY` tells both. Values are written as for --axis: 4KiB,1MiB, or
// 4KiB..1GiB by powers of two, or 4KiB..x4..1GiB. `all` is every CPU of the node, `most` the largest buffer
// that fits. `let name = values` gives values a name, $name takes them.
//
// Places are chosen alike: gpu=first or each (also those that --gpu names), node=nearest, near_and_far (one
// remote) or each, pairs=first, neighbours (each GPU with the next) or all, orders=one (the same wire answers
// both) or both.

#include "harness/presets.hpp"

namespace grainscope::harness {

const char* const kPresetTable = R"(
*
  smoke quick   gpu=first  node=near_and_far  pairs=first       orders=both
  acceptance    gpu=each   node=near_and_far  pairs=neighbours  orders=both
  full paper    gpu=each   node=each          pairs=all         orders=both

# ---- host ----------------------------------------------------------------------------------------------------

host/memcpy
  smoke       threads=1,all      flush=on,off  bytes=64KiB,1MiB
  quick       threads=1,all      flush=on,off  bytes=64KiB..x4..64MiB
  full        threads=1..x4..all flush=on,off  bytes=4KiB..16MiB,16MiB..x4..256MiB
  paper       threads=1..all     flush=on,off  bytes=4KiB..512MiB
  acceptance  threads=1,all      flush=on,off  bytes=64KiB,16MiB,64MiB

host/latency
  smoke       pages=base              bytes=64KiB,1MiB
  smoke       pages=transparent_huge  bytes=4MiB
  quick       pages=base              bytes=16KiB..x4..256MiB
  quick       pages=transparent_huge  bytes=4MiB..x4..256MiB
  full        pages=base              bytes=16KiB..16MiB,16MiB..x4..512MiB
  full        pages=transparent_huge  bytes=4MiB..16MiB,16MiB..x4..512MiB
  paper       pages=base              bytes=16KiB..1GiB
  paper       pages=transparent_huge  bytes=4MiB..1GiB
  acceptance  pages=base              bytes=64KiB,16MiB,256MiB
  acceptance  pages=transparent_huge  bytes=4MiB,16MiB,256MiB

host/first_touch
  smoke quick acceptance  pages=base,transparent_huge,hugetlb  threads=1,all       bytes=64MiB
  full                    pages=base,transparent_huge,hugetlb  threads=1..x4..all  bytes=4MiB..16MiB,16MiB..x4..256MiB
  paper                   pages=base,transparent_huge,hugetlb  threads=1..all      bytes=4MiB..256MiB

host/malloc
  smoke             what=malloc,malloc_and_fill  bytes=256
  quick acceptance  what=malloc,malloc_and_fill  bytes=256,4KiB,64KiB,1MiB,64MiB
  full              what=malloc,malloc_and_fill  bytes=256..16MiB,16MiB..x4..256MiB
  paper             what=malloc,malloc_and_fill  bytes=256..1GiB

host/flush
  smoke       state=cached,evicted  bytes=64KiB,1MiB
  quick       state=cached,evicted  bytes=64KiB..x4..64MiB
  full        state=cached,evicted  bytes=64KiB..16MiB,16MiB..x4..256MiB
  paper       state=cached,evicted  bytes=64KiB..1GiB
  acceptance  state=cached,evicted  bytes=64KiB,16MiB,64MiB

# ---- transfer ------------------------------------------------------------------------------------------------

# Pinned copies go farthest. Kinds of memory that repeat another's curve are looked at where it bends.
let pinned          = pinned_to_gpu,gpu_to_pinned
let pageable        = pageable_to_gpu,gpu_to_pageable
let registered      = registered_to_gpu,gpu_to_registered
let write_combined  = write_combined_to_gpu,gpu_to_write_combined

transfer/memcpy
  smoke       path=$pinned,$pageable  flush=on,off  bytes=64KiB,1MiB
  smoke       path=$registered        flush=on      bytes=1MiB
  smoke       path=$write_combined    flush=off     bytes=1MiB
  smoke       path=$pinned  timed=submission  bytes=256,64KiB
  quick       path=$pinned,$pageable  flush=on      bytes=256..x4..512MiB
  quick       path=$pinned,$pageable  flush=off     bytes=64KiB..x4..64MiB
  quick       path=$registered        flush=on      bytes=1MiB..x4..64MiB
  quick       path=$write_combined    flush=off     bytes=1MiB..x4..64MiB
  quick       path=$pinned  timed=submission  bytes=256,64KiB,16MiB
  full        path=$pinned            flush=on      bytes=256..16MiB,16MiB..x4..1GiB
  full        path=$pinned            flush=off     bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$pageable          flush=on,off  bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$registered        flush=on      bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$write_combined    flush=off     bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$pinned  timed=submission  bytes=256..16MiB,16MiB..x4..64MiB
  paper       path=$pinned            flush=on      bytes=256..1GiB,4GiB,most
  paper       path=$pinned            flush=off     bytes=256..1GiB
  paper       path=$pageable          flush=on,off  bytes=256..1GiB
  paper       path=$registered        flush=on      bytes=256..1GiB
  paper       path=$write_combined    flush=off     bytes=256..1GiB
  paper       path=$pinned  timed=submission  bytes=256..64MiB
  acceptance  path=$pinned,$pageable  flush=on      bytes=64KiB,16MiB,256MiB
  acceptance  path=$pinned,$pageable  flush=off     bytes=64KiB,16MiB,64MiB
  acceptance  path=$registered        flush=on      bytes=1MiB,16MiB,64MiB
  acceptance  path=$write_combined    flush=off     bytes=1MiB,16MiB,64MiB
  acceptance  path=$pinned  timed=submission  bytes=256,64KiB,16MiB

transfer/host_copy
  smoke       path=pageable_to_pinned  flush=on,off  bytes=64KiB,1MiB
  quick       path=pageable_to_pinned  flush=on,off  bytes=64KiB..x4..256MiB
  full        path=pageable_to_pinned  flush=on,off  bytes=4KiB..16MiB,16MiB..x4..256MiB
  paper       path=pageable_to_pinned  flush=on,off  bytes=4KiB..1GiB
  acceptance  path=pageable_to_pinned  flush=on,off  bytes=64KiB,16MiB,256MiB

transfer/kernel_copy
  smoke       path=$pinned  bytes=64KiB,1MiB
  quick       path=$pinned  bytes=4KiB..x4..512MiB
  full        path=$pinned  bytes=4KiB..16MiB,16MiB..x4..512MiB
  paper       path=$pinned  bytes=4KiB..512MiB
  acceptance  path=$pinned  bytes=64KiB,16MiB,256MiB

# Of all sizes one way to walk; of one size every way (EMOGI's toy); and from one block to a full GPU.
transfer/zero_copy
  smoke       direction=read,write  bytes=64KiB,1MiB
  smoke       direction=read,write  access=strided                 width=4               bytes=1MiB
  smoke       direction=read,write  access=merged  offset=4,32,64  width=4               bytes=1MiB
  smoke       direction=read,write  allocation=registered,accessed_by                    bytes=1MiB
  quick       direction=read,write  bytes=4KiB..x4..1GiB
  quick       direction=read,write  access=merged_aligned          width=4,8,16          bytes=256MiB
  quick       direction=read,write  access=strided                 width=4               bytes=256MiB
  quick       direction=read,write  access=merged  offset=4,32,64  width=4               bytes=256MiB
  quick       direction=read,write  allocation=registered,accessed_by                    bytes=256MiB
  quick       direction=read        width=4,16    blocks=1,4,8,16,32,64                  bytes=64MiB
  full        direction=read,write  bytes=4KiB..16MiB,16MiB..x4..256MiB
  full        direction=read,write  access=merged_aligned,strided  width=4,8,16          bytes=256MiB
  full        direction=read,write  access=merged  offset=4,32,64  width=4,8,16          bytes=256MiB
  full        direction=read,write  allocation=registered,accessed_by                    bytes=256MiB
  full        direction=read,write  width=4,8,16  blocks=1..128                          bytes=64MiB
  paper       direction=read,write  bytes=4KiB..1GiB
  paper       direction=read,write  blocks=256  threads=256  bytes=4KiB..1GiB            # Comm|Scope's grid
  paper       direction=read,write  access=merged_aligned,strided  width=4,8,16          bytes=256MiB
  paper       direction=read,write  access=merged  offset=4,32,64  width=4,8,16          bytes=256MiB
  paper       direction=read,write  allocation=registered,accessed_by                    bytes=256MiB
  paper       direction=read,write  width=4,8,16  blocks=1,2,4,8,12,16,24,32,48,64,96,128  bytes=64MiB
  acceptance  direction=read,write  bytes=64KiB,16MiB,256MiB
  acceptance  direction=read,write  access=merged_aligned          width=4,8,16          bytes=256MiB
  acceptance  direction=read,write  access=strided                 width=4               bytes=256MiB
  acceptance  direction=read,write  access=merged  offset=4,32,64  width=4               bytes=256MiB
  acceptance  direction=read,write  allocation=registered,accessed_by                    bytes=256MiB
  acceptance  direction=read        width=4,16    blocks=1,4,8,16,32,64                  bytes=64MiB

transfer/managed
  smoke       bytes=64KiB,1MiB                       method=demand    path=host_to_gpu
  smoke       bytes=64KiB,1MiB                       method=prefetch  path=host_to_gpu,gpu_to_host
  smoke       host_threads=1..x4..all  bytes=1MiB    method=demand    path=gpu_to_host
  quick       bytes=64KiB..x4..256MiB                method=demand    path=host_to_gpu
  quick       bytes=64KiB..x4..256MiB                method=prefetch  path=host_to_gpu,gpu_to_host
  quick       host_threads=1..x4..all  bytes=1MiB..x4..256MiB  method=demand  path=gpu_to_host
  full        bytes=64KiB..16MiB,16MiB..x4..256MiB   method=demand    path=host_to_gpu
  full        bytes=64KiB..16MiB,16MiB..x4..256MiB   method=prefetch  path=host_to_gpu,gpu_to_host
  full        host_threads=1..x4..all  bytes=1MiB..16MiB,16MiB..x4..256MiB  method=demand  path=gpu_to_host
  paper       bytes=64KiB..1GiB                      method=demand    path=host_to_gpu
  paper       bytes=64KiB..1GiB                      method=prefetch  path=host_to_gpu,gpu_to_host
  paper       host_threads=1..all      bytes=1MiB..1GiB  method=demand  path=gpu_to_host
  acceptance  bytes=64KiB,16MiB,256MiB               method=demand    path=host_to_gpu
  acceptance  bytes=64KiB,16MiB,256MiB               method=prefetch  path=host_to_gpu,gpu_to_host
  acceptance  host_threads=1..x4..all  bytes=1MiB,16MiB,256MiB  method=demand  path=gpu_to_host

# What takes the driver or the CPU long ends at 64 MiB; a link between GPUs takes a GiB to fill. Of a pair one
# order is enough, but where one of the two GPUs does all of it.
transfer/duplex
  smoke       between=host_gpu  method=pageable,demand,prefetch       bytes=64KiB,1MiB
  smoke       between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=64KiB,1MiB
  smoke       between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=64KiB,1MiB
  smoke       between=gpu_gpu   method=zero_copy    direction=read_write             bytes=64KiB,1MiB
  smoke       between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=64KiB,1MiB
  smoke       between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=64KiB,1MiB
  quick       between=host_gpu  method=pageable,demand,prefetch       bytes=1MiB,16MiB,64MiB
  quick       between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=1MiB,16MiB,256MiB
  quick       between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=1MiB,16MiB,256MiB
  quick       between=gpu_gpu   method=zero_copy    direction=read_write             bytes=1MiB,16MiB,256MiB
  quick       between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=1MiB,16MiB,64MiB
  quick       between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=1MiB,16MiB,64MiB
  full        between=host_gpu  method=pageable,demand,prefetch       bytes=64KiB..16MiB,16MiB..x4..64MiB
  full        between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=64KiB..16MiB,16MiB..x4..256MiB
  full        between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=64KiB..16MiB,16MiB..x4..1GiB
  full        between=gpu_gpu   method=zero_copy    direction=read_write             bytes=64KiB..16MiB,16MiB..x4..1GiB
  full        between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=64KiB..16MiB,16MiB..x4..64MiB
  full        between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=64KiB..16MiB,16MiB..x4..64MiB
  paper       between=host_gpu  method=pageable,demand,prefetch       bytes=64KiB..64MiB
  paper       between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=64KiB..256MiB
  paper       between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=64KiB..1GiB
  paper       between=gpu_gpu   method=zero_copy    direction=read_write             bytes=64KiB..1GiB
  paper       between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=64KiB..64MiB
  paper       between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=64KiB..64MiB
  acceptance  between=host_gpu  method=pageable,demand,prefetch       bytes=64KiB,16MiB,64MiB
  acceptance  between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=64KiB,16MiB,256MiB
  acceptance  between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=64KiB,16MiB,256MiB
  acceptance  between=gpu_gpu   method=zero_copy    direction=read_write             bytes=64KiB,16MiB,256MiB
  acceptance  between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=64KiB,16MiB,64MiB
  acceptance  between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=64KiB,16MiB,64MiB

transfer/local
  smoke       method=copy_engine,kernel_copy  bytes=64KiB,1MiB
  quick       method=copy_engine,kernel_copy  bytes=64KiB..x4..1GiB
  full        method=copy_engine,kernel_copy  bytes=64KiB..16MiB,16MiB..x4..4GiB
  paper       method=copy_engine,kernel_copy  bytes=64KiB..4GiB
  acceptance  method=copy_engine,kernel_copy  bytes=64KiB,16MiB,256MiB

# Without peer access the host lies between them. A short run has one of the two GPUs issue it.
transfer/peer
  smoke       method=copy_engine,kernel_copy,zero_copy  direction=read,write  bytes=64KiB,1MiB
  smoke       method=demand,prefetch                    direction=read        bytes=64KiB,1MiB
  smoke       method=copy_engine  access=off            direction=read,write  bytes=64KiB,1MiB
  quick       method=copy_engine,kernel_copy,zero_copy  direction=read,write  bytes=4KiB..x4..4GiB
  quick       method=demand,prefetch                    direction=read        bytes=64KiB..x4..256MiB
  quick       method=copy_engine  access=off            direction=read        bytes=64KiB..x4..256MiB
  full        method=copy_engine,kernel_copy,zero_copy  direction=read,write  bytes=4KiB..16MiB,16MiB..x4..4GiB
  full        method=demand,prefetch                    direction=read        bytes=64KiB..16MiB,16MiB..x4..256MiB
  full        method=copy_engine  access=off            direction=read,write  bytes=64KiB..16MiB,16MiB..x4..256MiB
  paper       method=copy_engine,kernel_copy,zero_copy  direction=read,write  bytes=4KiB..4GiB
  paper       method=demand,prefetch                    direction=read        bytes=64KiB..256MiB
  paper       method=copy_engine  access=off            direction=read,write  bytes=64KiB..256MiB
  acceptance  method=copy_engine,kernel_copy,zero_copy  direction=read,write  bytes=64KiB,16MiB,256MiB
  acceptance  method=demand,prefetch                    direction=read        bytes=64KiB,16MiB,256MiB
  acceptance  method=copy_engine  access=off            direction=read,write  bytes=64KiB,16MiB,256MiB

let around_one = one_to_all,all_to_one,all_from_one,one_from_all
let of_all     = all_to_host,host_to_all,all_host_duplex,all_pairs,ring

transfer/collective
  smoke             method=copy_engine,kernel_copy  root=first  pattern=$of_all,$around_one  bytes=1MiB
  quick acceptance  method=copy_engine,kernel_copy  root=first  pattern=$of_all,$around_one  bytes=256MiB
  full              method=copy_engine,kernel_copy  root=each   pattern=$of_all,$around_one  bytes=1MiB..16MiB,16MiB..x4..512MiB
  paper             method=copy_engine,kernel_copy  root=each   pattern=$of_all,$around_one  bytes=1MiB..512MiB

# ---- latency -------------------------------------------------------------------------------------------------

# nvbandwidth's stride needs no more than its own span to be compared; a shuffled walk of the GPU's own memory
# begins within its caches.
latency/chase
  smoke             to=host_memory,peer_memory,own_memory  order=stride           bytes=2MiB
  smoke             to=host_memory,peer_memory             order=shuffled         bytes=2MiB
  smoke             to=own_memory                          order=shuffled         bytes=64KiB
  quick acceptance  to=host_memory,peer_memory,own_memory  order=stride           bytes=2MiB
  quick acceptance  to=host_memory                         order=shuffled         bytes=2MiB,64MiB,256MiB
  quick acceptance  to=own_memory                          order=shuffled         bytes=64KiB,2MiB,16MiB,256MiB
  quick acceptance  to=peer_memory                         order=shuffled         bytes=2MiB
  full              to=host_memory,peer_memory             order=stride,shuffled  bytes=2MiB..16MiB,16MiB..x4..1GiB
  full              to=own_memory                          order=stride,shuffled  bytes=64KiB..16MiB,16MiB..x4..1GiB
  paper             to=host_memory,peer_memory             order=stride,shuffled  bytes=2MiB..1GiB
  paper             to=own_memory                          order=stride,shuffled  bytes=64KiB..1GiB

latency/flag
  smoke quick full paper acceptance  between=cpu_gpu,gpu_gpu

latency/managed_touch
  smoke quick full paper acceptance  path=host_to_gpu,gpu_to_host,peer_to_gpu

# ---- call ----------------------------------------------------------------------------------------------------

let waits       = launch_and_wait,stream_synchronize,device_synchronize,event_record,event_synchronize,stream_wait_event
let by_threads  = launch_by_threads,device_synchronize_by_threads
let of_graphs   = graph_instantiate,graph_launch,graph_instantiate_copies,graph_launch_copies,graph_launch_copies_3d
let on_gpu      = malloc,free
let from_pool   = malloc_async,free_async
let managed     = malloc_managed,managed_free
let on_host     = host_alloc,host_free
let registering = host_register,host_unregister

# Which node calls hardly matters but to host memory. Where the CPU touches every page, a call of a GiB takes
# a second; smaller than 4 MiB there may be no huge page to register.
call
  smoke quick acceptance  node=nearest  what=launch,$waits
  smoke quick acceptance  node=nearest  what=launch_with_arguments  arguments=64,1024,4096
  smoke quick acceptance  node=nearest  what=$by_threads            threads=2,8
  smoke quick acceptance  node=nearest  what=$of_graphs             nodes=1,16,256
  full paper              what=launch,$waits
  full paper              what=launch_with_arguments  arguments=64,1024,4096
  full paper              what=$by_threads            threads=2..32
  full paper              what=$of_graphs             nodes=1,16,256
  smoke             node=nearest  what=$on_gpu                         bytes=4KiB
  smoke             node=nearest  what=$from_pool                      bytes=1MiB
  smoke             node=nearest  what=$managed,managed_first_touch,managed_first_touch_by_host  bytes=64KiB
  smoke             what=$on_host                                      bytes=4KiB
  smoke             what=$registering                                  bytes=page
  smoke             what=$registering  pages=transparent_huge,hugetlb  bytes=64MiB
  quick acceptance  node=nearest  what=$on_gpu                         bytes=4KiB,1MiB,64MiB,1GiB
  quick acceptance  node=nearest  what=$from_pool                      bytes=1MiB,64MiB
  quick acceptance  node=nearest  what=$managed,managed_first_touch,managed_first_touch_by_host  bytes=64KiB,64MiB
  quick acceptance  what=$on_host                                      bytes=4KiB,1MiB,64MiB
  quick acceptance  what=$registering                                  bytes=page,1MiB,64MiB
  quick acceptance  what=$registering  pages=transparent_huge,hugetlb  bytes=64MiB
  full              what=$on_gpu,$from_pool                            bytes=4KiB..16MiB,16MiB..x4..1GiB
  full              what=$managed,managed_first_touch                  bytes=64KiB..16MiB,16MiB..x4..1GiB
  full              what=managed_first_touch_by_host                   bytes=64KiB..16MiB,16MiB..x4..256MiB
  full              what=$on_host                                      bytes=4KiB..16MiB,16MiB..x4..256MiB
  full              what=$registering                                  bytes=page..16MiB,16MiB..x4..256MiB
  full              what=$registering  pages=transparent_huge,hugetlb  bytes=4MiB..16MiB,16MiB..x4..256MiB
  paper             what=$on_gpu,$from_pool                            bytes=4KiB..1GiB
  paper             what=$managed,managed_first_touch,managed_first_touch_by_host  bytes=64KiB..1GiB
  paper             what=$on_host                                      bytes=4KiB..1GiB
  paper             what=$registering                                  bytes=page..1GiB
  paper             what=$registering  pages=transparent_huge,hugetlb  bytes=4MiB..1GiB

# ---- contention ----------------------------------------------------------------------------------------------

let both_ways = host_to_gpu,gpu_to_host
let beside    = opposite_copy,beside_compute,beside_device_stream

# streamed: of its own memory the GPU reads so much beside, in place of a GiB.
contention
  smoke                        path=$both_ways  what=$beside  method=copy_engine,kernel_copy  bytes=1MiB  streamed=1MiB
  smoke                        path=$both_ways  what=streams  streams=1,2,4,8                 bytes=1MiB
  smoke                        path=$both_ways  what=engine_and_kernel                        bytes=1MiB
  quick full paper acceptance  path=$both_ways  what=$beside  method=copy_engine,kernel_copy  bytes=128MiB
  quick acceptance             path=$both_ways  what=streams  streams=1,2,4,8                 bytes=128MiB
  full paper                   path=$both_ways  what=streams  streams=1,2,3,4,6,8,16          bytes=128MiB
  quick full paper acceptance  path=$both_ways  what=engine_and_kernel                        bytes=128MiB

# ---- grain ---------------------------------------------------------------------------------------------------

let by_kernel = zero_copy_random,kernel_write_random
let submitted = batch,graph

# What the driver or a batch takes for a piece changes slowly, and each takes long: of those fewer. A kernel's
# full request, 128 bytes, has its place everywhere.
grain/pieces
  smoke             method=copy_engine,pageable_copy,$submitted,$by_kernel,managed_demand  path=$both_ways  grain=128
  smoke             method=managed_prefetch        path=$both_ways  grain=4KiB
  quick acceptance  method=copy_engine,$by_kernel  path=$both_ways  grain=32..x4..64MiB
  quick acceptance  method=$submitted              path=$both_ways  grain=128,4KiB,128KiB,4MiB
  quick acceptance  method=pageable_copy           path=$both_ways  grain=128,4KiB,128KiB,4MiB,64MiB
  quick acceptance  method=managed_prefetch        path=$both_ways  grain=4KiB,64KiB,1MiB,8MiB,64MiB
  quick acceptance  method=managed_demand          path=host_to_gpu  grain=128,4KiB,64KiB,2MiB,64MiB
  full   gpu=first  method=copy_engine,pageable_copy,$by_kernel  path=$both_ways  grain=32..64MiB
  full   gpu=first  method=$submitted,managed_demand             path=$both_ways  grain=32..x4..64MiB
  full   gpu=first  method=managed_prefetch                      path=$both_ways  grain=4KiB..x4..64MiB
  paper             method=copy_engine,pageable_copy,$submitted,$by_kernel,managed_demand  path=$both_ways  grain=32..64MiB
  paper             method=managed_prefetch        path=$both_ways  grain=4KiB..64MiB

# Of its own memory many times what a GPU's cache holds, and so long that a kernel's few microseconds do not
# count.
grain/gpu_memory
  smoke             memory=own,peer  orders=one  direction=read,write  grain=4,128                    bytes=1MiB
  quick acceptance  memory=own                   direction=read,write  grain=4,16,32,64,128,512,4KiB  bytes=512MiB
  quick acceptance  memory=peer      orders=one  direction=read,write  grain=4,16,32,64,128,512,4KiB  bytes=64MiB
  full paper        memory=own                   direction=read,write  grain=4..64KiB                 bytes=512MiB
  full paper        memory=peer                  direction=read,write  grain=4..64KiB                 bytes=64MiB

grain/saturation
  smoke                   direction=read,write  width=4,16  bytes=1MiB
  quick paper acceptance  direction=read,write  width=4,16  bytes=64MiB
  full        gpu=first   direction=read,write  width=4,16  bytes=64MiB

# ---- shape ---------------------------------------------------------------------------------------------------

# Which node matters most is another family's question: in short runs the nearest stands for all.
let card      = host_to_gpu,gpu_to_host,local
let peers     = gpu_to_peer,peer_to_gpu
let any_box   = copy_2d,copy_3d,kernel_strided,kernel_chunked,pack,row_copies
let flat_box  = copy_2d,kernel_strided,kernel_chunked,pack,row_copies
let deep_box  = copy_3d,kernel_strided,pack

# Rows of one plane that differ in their width alone; then faces: those that a stencil of radius 2 in double
# precision exchanges, of a volume of 512 x 512 x 512 bytes with its halo (16 bytes, 2 rows and 2 planes deep),
# and Comm|Scope's, of radius 3 in single precision, of 768 x 768 x 768. plane_rows: rows of the allocation from
# one plane to the next. In a quick look each box is asked what it differs in: planes are for the copy that
# knows planes. At last the call that submits a copy of a small cube.
shape/copy
  smoke       node=nearest  orders=one  path=$card,$peers  bytes=1MiB  width=512                     method=$any_box
  smoke       node=nearest  orders=one  path=$card,gpu_to_peer  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64
  quick       node=nearest  orders=one  path=$card,$peers  bytes=4MiB  width=32,128,512,4KiB,64KiB   method=$flat_box
  quick       node=nearest  orders=one  path=$card,$peers  width=16   rows=508  planes=508  pitch=512  plane_rows=512  method=$deep_box
  quick       node=nearest  orders=one  path=$card,$peers  width=480  rows=2    planes=508  pitch=512  plane_rows=512  method=$deep_box
  quick       node=nearest  orders=one  path=$card,$peers  width=480  rows=508  planes=2    pitch=512  plane_rows=512  method=$deep_box
  quick       node=nearest  orders=one  path=$card,gpu_to_peer  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64
  full        gpu=first  path=$card  bytes=4MiB    width=8,32,128,512,4KiB,16KiB,64KiB  method=$any_box
  full        gpu=first  path=$card  bytes=256KiB  width=32,128,512,4KiB,64KiB          method=$any_box
  full        gpu=first  path=$card  bytes=64MiB   width=512,64KiB                      method=$any_box
  full        gpu=first  path=$card  width=16   rows=508  planes=508  pitch=512  plane_rows=512  method=$any_box
  full        gpu=first  path=$card  width=480  rows=2    planes=508  pitch=512  plane_rows=512  method=$any_box
  full        gpu=first  path=$card  width=480  rows=508  planes=2    pitch=512  plane_rows=512  method=$any_box
  full        gpu=first  path=$card  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64
  full        path=$peers  bytes=4MiB    width=8,32,128,512,4KiB,16KiB,64KiB  method=$any_box
  full        path=$peers  bytes=256KiB  width=32,128,512,4KiB,64KiB          method=$any_box
  full        path=$peers  bytes=64MiB   width=512,64KiB                      method=$any_box
  full        path=$peers  width=16   rows=508  planes=508  pitch=512  plane_rows=512  method=$any_box
  full        path=$peers  width=480  rows=2    planes=508  pitch=512  plane_rows=512  method=$any_box
  full        path=$peers  width=480  rows=508  planes=2    pitch=512  plane_rows=512  method=$any_box
  full        path=gpu_to_peer  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64
  paper       path=$card,$peers  bytes=4MiB           width=8..64KiB                method=$any_box
  paper       path=$card,$peers  bytes=256KiB,64MiB   width=32,128,512,4KiB,64KiB   method=$any_box
  paper       path=$card,$peers  width=12    rows=768  planes=768  pitch=3072  plane_rows=768  method=$any_box
  paper       path=$card,$peers  width=3072  rows=3    planes=768  pitch=3072  plane_rows=768  method=$any_box
  paper       path=$card,$peers  width=3072  rows=768  planes=3    pitch=3072  plane_rows=768  method=$any_box
  paper       path=$card,$peers  width=16   rows=508  planes=508  pitch=512  plane_rows=512  method=$any_box
  paper       path=$card,$peers  width=480  rows=2    planes=508  pitch=512  plane_rows=512  method=$any_box
  paper       path=$card,$peers  width=480  rows=508  planes=2    pitch=512  plane_rows=512  method=$any_box
  paper       path=$card,gpu_to_peer  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64
  acceptance  node=nearest  path=$card,$peers  bytes=4MiB  width=128,4KiB  method=$flat_box
  acceptance  node=nearest  path=$card,gpu_to_peer  timed=submission  method=copy_3d  width=8  rows=8  planes=8  pitch=64

let each_way = one_by_one,batch,graph,kernel

shape/batch
  smoke       node=nearest  orders=one  path=$card,gpu_to_peer  piece=4KiB              pieces=64    method=$each_way
  quick       node=nearest  orders=one  path=$card,gpu_to_peer  piece=256,4KiB,64KiB    pieces=256   method=$each_way
  full        gpu=first     path=$card        piece=64..x4..256KiB   pieces=256          method=$each_way
  full        gpu=first     path=$card        piece=256,4KiB,64KiB   pieces=64,1024      method=$each_way
  full                      path=gpu_to_peer  piece=64..x4..256KiB   pieces=256          method=$each_way
  full                      path=gpu_to_peer  piece=256,4KiB,64KiB   pieces=64,1024      method=$each_way
  paper                     path=$card,gpu_to_peer  piece=64..x4..256KiB  pieces=64,256,1024  method=$each_way
  acceptance  node=nearest  path=$card,gpu_to_peer  piece=4KiB            pieces=256          method=$each_way

# ---- reach ---------------------------------------------------------------------------------------------------

# ---- gather --------------------------------------------------------------------------------------------------

# ---- sm_share ------------------------------------------------------------------------------------------------

# ---- traversal -----------------------------------------------------------------------------------------------

# ---- lean ----------------------------------------------------------------------------------------------------

# ---- sampling ------------------------------------------------------------------------------------------------

# ---- tiering -------------------------------------------------------------------------------------------------

# ---- pipeline ------------------------------------------------------------------------------------------------

# ---- model ---------------------------------------------------------------------------------------------------
)";

namespace {

// Copies of some MiB by pages that others have touched are at one level for some ten calls, slower for some
// tens and then as at first; what is taken for 50 ms has both behind it.
constexpr double kWarmup_s = 0.005;
constexpr double kPatience_s = 0.05;

SamplingPlan plan(double ci_target, double budget_s, std::size_t warmups) {
  return {.ci_target = ci_target,
          .budget_s = budget_s,
          .max_samples = 512,
          .warmups = warmups,
          .warmup_s = kWarmup_s,
          .patience_s = kPatience_s};
}

}  // namespace

const PresetSampling& sampling_of(Preset preset) {
  // 64 trials are what the GAP benchmark suite asks for.
  static const PresetSampling smoke{
      {.ci_target = 0.1, .budget_s = 0.05, .max_samples = 64, .warmups = 1}, 1, 2};
  static const PresetSampling quick{plan(0.02, 0.5, 2), 1, 8};
  static const PresetSampling full{plan(0.01, 0.5, 2), 1, 8};
  static const PresetSampling paper{plan(0.01, 0.8, 2), 1, 64};
  static const PresetSampling acceptance{plan(0.01, 1.0, 3), 5, 16};
  switch (preset) {
    case Preset::smoke:
      return smoke;
    case Preset::quick:
      return quick;
    case Preset::full:
      return full;
    case Preset::paper:
      return paper;
    case Preset::acceptance:
      return acceptance;
  }
  return quick;
}

}  // namespace grainscope::harness
