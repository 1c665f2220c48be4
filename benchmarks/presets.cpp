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
  quick       threads=1,all      flush=on,off  bytes=64KiB,1MiB,16MiB,64MiB
  full        threads=1..x4..all flush=on,off  bytes=4KiB..16MiB,16MiB..x4..256MiB
  paper       threads=1..all     flush=on,off  bytes=4KiB..512MiB
  acceptance  threads=1,all      flush=on,off  bytes=64KiB,16MiB,64MiB

host/latency
  smoke       pages=base              bytes=64KiB,1MiB
  smoke       pages=transparent_huge  bytes=4MiB
  quick       pages=base              bytes=16KiB..x4..256MiB
  quick       pages=transparent_huge  bytes=64MiB,256MiB
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
let managed_host    = managed_host_to_gpu,gpu_to_managed_host

transfer/memcpy
  smoke       path=$pinned,$pageable  flush=on,off  bytes=64KiB,1MiB
  smoke       path=$registered        flush=on      bytes=1MiB
  smoke       path=$write_combined    flush=off     bytes=1MiB
  smoke       path=$managed_host      flush=off     bytes=1MiB
  smoke       path=$pinned  timed=submission  bytes=256,64KiB
  quick       path=$pinned            flush=on      bytes=256..x4..256MiB,512..x4..8MiB
  quick       path=$pageable          flush=on      bytes=256..x4..64MiB
  quick       path=$pinned,$pageable  flush=off     bytes=64KiB..x4..64MiB
  quick       path=$registered        flush=on      bytes=1MiB..x4..64MiB
  quick       path=$write_combined    flush=off     bytes=1MiB..x4..64MiB
  quick       path=$managed_host      flush=off     bytes=1MiB,64MiB
  quick       path=$pinned  timed=submission  bytes=256,64KiB,16MiB
  full        path=$pinned            flush=on      bytes=256..16MiB,16MiB..x4..1GiB
  full        path=$pinned            flush=off     bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$pageable          flush=on,off  bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$registered        flush=on      bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$write_combined    flush=off     bytes=256..16MiB,16MiB..x4..256MiB
  full        path=$managed_host      flush=off     bytes=4KiB..x4..256MiB
  full        path=$pinned  timed=submission  bytes=256..16MiB,16MiB..x4..64MiB
  paper       path=$pinned            flush=on      bytes=256..1GiB,4GiB,16GiB
  paper       path=$pinned            flush=off     bytes=256..1GiB
  paper       path=$pageable          flush=on,off  bytes=256..1GiB
  paper       path=$registered        flush=on      bytes=256..1GiB
  paper       path=$write_combined    flush=off     bytes=256..1GiB
  paper       path=$managed_host      flush=off     bytes=4KiB..1GiB
  paper       path=$pinned  timed=submission  bytes=256..64MiB
  acceptance  path=$pinned,$pageable  flush=on      bytes=64KiB,16MiB,256MiB
  acceptance  path=$pinned,$pageable  flush=off     bytes=64KiB,16MiB,64MiB
  acceptance  path=$registered        flush=on      bytes=1MiB,16MiB,64MiB
  acceptance  path=$write_combined    flush=off     bytes=1MiB,16MiB,64MiB
  acceptance  path=$pinned  timed=submission  bytes=256,64KiB,16MiB

transfer/host_copy
  smoke       path=pageable_to_pinned  flush=on,off  bytes=64KiB,1MiB
  quick       path=pageable_to_pinned  flush=on,off  bytes=64KiB,1MiB,16MiB,64MiB
  full        path=pageable_to_pinned  flush=on,off  bytes=4KiB..16MiB,16MiB..x4..256MiB
  paper       path=pageable_to_pinned  flush=on,off  bytes=4KiB..1GiB
  acceptance  path=pageable_to_pinned  flush=on,off  bytes=64KiB,16MiB,256MiB

transfer/kernel_copy
  smoke       path=$pinned  bytes=64KiB,1MiB
  quick       path=$pinned  bytes=4KiB..128MiB,256MiB
  full        path=$pinned  bytes=4KiB..16MiB,16MiB..x4..512MiB
  paper       path=$pinned  bytes=4KiB..512MiB
  acceptance  path=$pinned  bytes=64KiB,16MiB,256MiB
  smoke       path=$managed_host      bytes=1MiB
  quick       path=$managed_host      bytes=64MiB
  full paper  path=$managed_host      bytes=64KiB..x4..256MiB
# In bulk (TMA), and by few blocks, of which two fill the link.
  smoke       path=$pinned  load=bulk    blocks=usual,1  bytes=1MiB
  quick       path=$pinned  load=bulk    blocks=1,2      bytes=64MiB
  full paper  path=$pinned  load=bulk                          bytes=256KiB,4MiB,64MiB,512MiB
  full paper  path=$pinned  load=vector,bulk  blocks=1,2,8     bytes=128MiB
  full paper  path=$pinned  load=bulk    blocks=1    chunk=2KiB,6KiB  stages=8,32  bytes=128MiB
  full paper  path=$pinned  load=bulk    blocks=1,2  chunk=24KiB      stages=8     bytes=128MiB

# Of all sizes one way to walk; of one size every way (EMOGI's toy); and from one block to a full GPU.
transfer/zero_copy
  smoke       direction=read,write  bytes=64KiB,1MiB
  smoke       direction=read,write  access=strided                 width=4               bytes=1MiB
  smoke       direction=read,write  access=merged  offset=4,32,64  width=4               bytes=1MiB
  smoke       direction=read,write  allocation=registered,accessed_by                    bytes=1MiB
  quick       direction=read,write  bytes=4KiB..x4..256MiB
  quick       direction=read,write  access=merged_aligned          width=4,8,16          bytes=64MiB
  quick       direction=read,write  access=strided                 width=4               bytes=64MiB
  quick       direction=read,write  access=merged  offset=4,32,64  width=4               bytes=64MiB
  quick       direction=read,write  allocation=registered,accessed_by,managed_host       bytes=64MiB
  quick       direction=read        width=4,16    blocks=1,4,8,16,32,64                  bytes=64MiB
  full        direction=read,write  bytes=4KiB..16MiB,16MiB..x4..256MiB
  full        direction=read,write  access=merged_aligned,strided  width=4,8,16          bytes=256MiB
  full        direction=read,write  access=merged  offset=4,32,64  width=4,8,16          bytes=256MiB
  full        direction=read,write  allocation=registered,accessed_by,managed_host       bytes=256MiB
  full        direction=read,write  width=4,8,16  blocks=1..128                          bytes=64MiB
  paper       direction=read,write  bytes=4KiB..1GiB
  paper       direction=read,write  blocks=256  threads=256  bytes=4KiB..1GiB            # Comm|Scope's grid
  paper       direction=read,write  flush=off                bytes=4KiB..1GiB
  paper       direction=read,write  access=merged_aligned,strided  width=4,8,16          bytes=256MiB
  paper       direction=read,write  access=merged  offset=4,32,64  width=4,8,16          bytes=256MiB
  paper       direction=read,write  allocation=registered,accessed_by,managed_host       bytes=256MiB
  paper       direction=read,write  width=4,8,16  blocks=1,2,4,8,12,16,24,32,48,64,96,128  bytes=64MiB
  acceptance  direction=read,write  bytes=64KiB,16MiB,256MiB
  acceptance  direction=read,write  access=merged_aligned          width=4,8,16          bytes=256MiB
  acceptance  direction=read,write  access=strided                 width=4               bytes=256MiB
  acceptance  direction=read,write  access=merged  offset=4,32,64  width=4               bytes=256MiB
  acceptance  direction=read,write  allocation=registered,accessed_by                    bytes=256MiB
  acceptance  direction=read        width=4,16    blocks=1,4,8,16,32,64                  bytes=64MiB

# What the driver may be told of managed memory; each family does one of these where nothing is said.
let hints       = none,read_mostly,preferred_gpu,preferred_host,accessed_by,prefetch
let page_calls  = prefetch_batch,discard,discard_and_prefetch

transfer/managed
  smoke       bytes=64KiB,1MiB                       method=demand    path=host_to_gpu
  smoke       bytes=64KiB,1MiB                       method=prefetch  path=host_to_gpu,gpu_to_host
  smoke       host_threads=1..x4..all  bytes=1MiB    method=demand    path=gpu_to_host
  smoke       bytes=1MiB  grain=whole,64KiB          method=$page_calls  path=host_to_gpu,gpu_to_host
  smoke       bytes=1MiB  hint=$hints                method=demand    path=host_to_gpu
  quick       bytes=64KiB,1MiB,16MiB,64MiB           method=demand    path=host_to_gpu
  quick       bytes=64KiB,1MiB,16MiB,64MiB           method=prefetch  path=host_to_gpu,gpu_to_host
  quick       host_threads=1..x4..all  bytes=1MiB,64MiB  method=demand  path=gpu_to_host
  quick       bytes=16MiB                            method=$page_calls  path=host_to_gpu
  quick       bytes=16MiB  hint=none,read_mostly,accessed_by  method=demand  path=host_to_gpu
  full        bytes=64KiB..16MiB,16MiB..x4..256MiB   method=demand    path=host_to_gpu
  full        bytes=64KiB..16MiB,16MiB..x4..256MiB   method=prefetch  path=host_to_gpu,gpu_to_host
  full        host_threads=1..x4..all  bytes=1MiB..16MiB,16MiB..x4..256MiB  method=demand  path=gpu_to_host
  full        gpu=first  node=nearest  bytes=1MiB..x4..64MiB  method=$page_calls  path=host_to_gpu,gpu_to_host
  full        gpu=first  node=nearest  bytes=64MiB  grain=4KiB,64KiB,2MiB  method=$page_calls  path=host_to_gpu
  full        gpu=first  node=nearest  bytes=1MiB..x4..64MiB  hint=$hints  method=demand  path=host_to_gpu
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
  quick       between=host_gpu  method=pageable,demand,prefetch       bytes=1MiB,16MiB
  quick       between=host_gpu  method=pinned,kernel_copy,zero_copy   bytes=1MiB,16MiB,64MiB
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
  full paper  between=host_gpu  method=kernel_copy  load=bulk         bytes=1MiB,16MiB,64MiB
  acceptance  between=gpu_gpu   method=copy_engine,kernel_copy,zero_copy  direction=write,read  orders=one  bytes=64KiB,16MiB,256MiB
  acceptance  between=gpu_gpu   method=zero_copy    direction=read_write             bytes=64KiB,16MiB,256MiB
  acceptance  between=gpu_gpu   method=demand,prefetch   orders=one                  bytes=64KiB,16MiB,64MiB
  acceptance  between=gpu_gpu   method=copy_engine  direction=write  access=off  orders=one  bytes=64KiB,16MiB,64MiB

transfer/local
  smoke       method=copy_engine,kernel_copy  bytes=64KiB,1MiB
  quick       method=copy_engine,kernel_copy  bytes=64KiB..1GiB
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

# Parts of a copy over the links of neighbours: what that gains by size, and what share and chunks it needs.
transfer/relay
  smoke             orders=one  method=copy_engine,kernel_copy  path=$pinned  bytes=1MiB
  quick             orders=one  method=copy_engine              path=$pinned  bytes=4MiB,64MiB,1GiB
  acceptance        orders=one  method=copy_engine              path=$pinned  bytes=64MiB,256MiB
  full paper        orders=one  method=copy_engine,kernel_copy  path=$pinned  bytes=256KiB..x4..4GiB
  full paper        orders=one  method=copy_engine              path=$pinned  share=10,30,40,45,50,55,60,70,90  bytes=1GiB
  full paper        orders=one  method=copy_engine              path=$pinned  chunk=256KiB,1MiB,4MiB,16MiB  buffers=1,2,4  bytes=256MiB
  paper             orders=one  method=copy_engine              path=$pinned  neighbours=2,3,7  bytes=64MiB,1GiB
  paper             orders=one  method=copy_engine              path=$pinned  bytes=8GiB

let around_one = one_to_all,all_to_one,all_from_one,one_from_all
let of_all     = all_to_host,host_to_all,all_host_duplex,all_pairs,ring

transfer/collective
  smoke             method=copy_engine,kernel_copy  root=first  pattern=$of_all,$around_one  bytes=1MiB
  quick acceptance  method=copy_engine,kernel_copy  root=first  pattern=$of_all,$around_one  bytes=256MiB
  full              method=copy_engine,kernel_copy  root=each   pattern=$of_all,$around_one  bytes=1MiB..16MiB,16MiB..x4..512MiB
  paper             method=copy_engine,kernel_copy  root=each   pattern=$of_all,$around_one  bytes=1MiB..512MiB

# ---- collective ----------------------------------------------------------------------------------------------

let reducing = all_reduce,reduce_scatter
let moving   = all_gather,broadcast,all_to_all,send_receive
let in_place = all_reduce,all_gather,reduce_scatter,broadcast

collective
  smoke             pairs=all  what=$reducing,$moving  timed=loop,single              bytes=8KiB,1MiB
  smoke             pairs=all  what=$in_place          place=in                       bytes=1MiB
  smoke             pairs=all  what=$reducing          registered=on  type=float32    bytes=1MiB
  quick acceptance  pairs=all  what=$reducing,$moving                                 bytes=64,64KiB,1MiB..x16..256MiB
  quick acceptance  pairs=all  what=all_reduce         timed=single                   bytes=64,64KiB,1MiB..x16..256MiB
  quick acceptance  pairs=all  what=$in_place          place=in                       bytes=256MiB
  quick acceptance  pairs=all  what=$in_place          registered=on  type=float32    bytes=256MiB
  full              pairs=all  what=$reducing,$moving  gpus=2,all                     bytes=64..x4..4GiB
  full              pairs=all  what=all_reduce         bytes=8,16,32
  full              pairs=all  what=$reducing,$moving  timed=single                   bytes=64..x16..4GiB
  full              pairs=all  what=$in_place          place=in                       bytes=64KiB..x16..4GiB
  full              pairs=all  what=$reducing,$moving  registered=on                  bytes=64KiB..x16..4GiB
  full              pairs=all  what=$reducing          type=float32                   bytes=64KiB..x16..4GiB
  paper             pairs=all  what=$reducing,$moving  timed=loop,single  gpus=2,all  bytes=8..4GiB
  paper             pairs=all  what=$in_place          place=in  registered=off,on    bytes=64KiB..4GiB
  paper             pairs=all  what=$reducing,$moving  registered=on  type=uint32,float32  bytes=64KiB..4GiB

# ---- latency -------------------------------------------------------------------------------------------------

# nvbandwidth's stride needs no more than its own span to be compared; a shuffled walk of the GPU's own memory
# begins within its caches.
latency/chase
  smoke             to=host_memory,peer_memory,own_memory  order=stride           bytes=2MiB
  smoke             to=host_memory,peer_memory             order=shuffled         bytes=2MiB
  smoke             to=own_memory                          order=shuffled         bytes=64KiB
  quick acceptance  to=host_memory,peer_memory,own_memory  order=stride           bytes=2MiB
  quick             to=host_memory                         order=shuffled         bytes=2MiB,256MiB
  acceptance        to=host_memory                         order=shuffled         bytes=2MiB,64MiB,256MiB
  quick             to=host_memory  memory=managed_host    order=shuffled         bytes=256MiB
  quick             to=own_memory                          order=shuffled         bytes=64KiB,2MiB,256MiB
  acceptance        to=own_memory                          order=shuffled         bytes=64KiB,2MiB,16MiB,256MiB
  quick acceptance  to=peer_memory                         order=shuffled         bytes=2MiB
  full              to=host_memory,peer_memory             order=stride,shuffled  bytes=2MiB..16MiB,16MiB..x4..1GiB
  full              to=host_memory  memory=managed_host    order=shuffled         bytes=64MiB,256MiB,1GiB
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
let mapped      = take_mapped,give_back_mapped,fork_with_mapped
let kinds_on_host = host_alloc,registered,transparent_huge,hugetlb,vmm_host,managed_host

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
# What memory costs that a GPU reads in place, and what a fork costs that holds some.
  smoke             node=nearest  what=$mapped  memory=host_alloc,managed_host   bytes=2MiB
  quick             node=nearest  what=take_mapped  memory=managed_host  bytes=64MiB
  full              node=nearest  what=$mapped  memory=$kinds_on_host    bytes=2MiB,64MiB,1GiB
  paper             node=nearest  what=$mapped  memory=$kinds_on_host    bytes=2MiB..x4..2GiB
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
  quick                        path=$both_ways  what=$beside  method=copy_engine,kernel_copy  bytes=64MiB
  full paper acceptance        path=$both_ways  what=$beside  method=copy_engine,kernel_copy  bytes=128MiB
  quick                        path=$both_ways  what=streams  streams=1,4                     bytes=64MiB
  acceptance                   path=$both_ways  what=streams  streams=1,2,4,8                 bytes=128MiB
  full paper                   path=$both_ways  what=streams  streams=1,2,3,4,6,8,16          bytes=128MiB
  quick                        path=$both_ways  what=beside_compute  method=kernel_copy  load=bulk  blocks=2  bytes=64MiB
  full paper                   path=$both_ways  what=opposite_copy,beside_compute  method=kernel_copy  load=bulk  bytes=128MiB
  full paper                   path=$both_ways  what=beside_compute  method=kernel_copy  load=vector,bulk  blocks=2  bytes=128MiB
  quick                        path=$both_ways  what=engine_and_kernel                        bytes=64MiB
  full paper acceptance        path=$both_ways  what=engine_and_kernel                        bytes=128MiB

# ---- grain ---------------------------------------------------------------------------------------------------

# Sizes of pieces that grain/pieces, grain/gpu_memory and shape/pages have in common, so that one question can
# be asked of all of them: a sector, a kernel's full request of 128 bytes, pages, and beyond. Prefetches begin
# with a page.
let few_pieces = 128,4KiB,64KiB
let pieces     = 32..x4..512,4KiB..x4..256KiB

let by_kernel  = zero_copy_random,kernel_write_random
let submitted  = batch,graph
let prefetched = managed_prefetch,managed_prefetch_batch

# What the driver or a batch takes for a piece changes slowly, and each takes long: of those fewer.
grain/pieces
  smoke             method=copy_engine,pageable_copy,$submitted,$by_kernel,managed_demand  path=$both_ways  grain=128
  smoke             method=$prefetched             path=$both_ways  grain=4KiB
  quick acceptance  method=copy_engine,$by_kernel  path=$both_ways  grain=$pieces,1MiB..x4..64MiB
  quick             method=$submitted              path=$both_ways  grain=$few_pieces
  quick             method=pageable_copy           path=$both_ways  grain=$few_pieces,64MiB
  quick             method=$prefetched             path=$both_ways  grain=4KiB,64KiB,64MiB
  quick             method=managed_demand          path=host_to_gpu  grain=4KiB,64KiB,2MiB
  acceptance        method=$submitted              path=$both_ways  grain=$few_pieces,4MiB
  acceptance        method=pageable_copy           path=$both_ways  grain=$few_pieces,4MiB,64MiB
  acceptance        method=$prefetched             path=$both_ways  grain=4KiB,64KiB,1MiB,8MiB,64MiB
  acceptance        method=managed_demand          path=host_to_gpu  grain=$few_pieces,2MiB,64MiB
  full   gpu=first  method=copy_engine,pageable_copy,$by_kernel  path=$both_ways  grain=32..64MiB
  full   gpu=first  method=$submitted,managed_demand             path=$both_ways  grain=$pieces,1MiB..x4..64MiB
  full   gpu=first  method=$prefetched                           path=$both_ways  grain=4KiB..x4..64MiB
  paper             method=copy_engine,pageable_copy,$submitted,$by_kernel,managed_demand  path=$both_ways  grain=32..64MiB
  paper             method=$prefetched             path=$both_ways  grain=4KiB..64MiB
# The same of memory that the GPU maps by large pages.
  smoke             method=copy_engine,zero_copy_random  path=host_to_gpu  grain=4KiB  memory=managed_host
  full   gpu=first  method=copy_engine,$by_kernel  path=$both_ways  grain=128,4KiB,64KiB,1MiB  memory=managed_host
  paper             method=copy_engine,$submitted,$by_kernel  path=$both_ways  grain=32..x4..8MiB  memory=registered,managed_host

# Of its own memory many times what a GPU's cache holds, and so long that a kernel's few microseconds do not
# count.
grain/gpu_memory
  smoke             memory=own,peer  orders=one  direction=read,write  grain=4,128                   bytes=1MiB
  quick acceptance  memory=own                   direction=read,write  grain=4,16,32,64,$few_pieces  bytes=512MiB
  quick acceptance  memory=peer      orders=one  direction=read,write  grain=4,16,32,64,$few_pieces  bytes=64MiB
  full paper        memory=own                   direction=read,write  grain=4..256KiB               bytes=512MiB
  full paper        memory=peer                  direction=read,write  grain=4..256KiB               bytes=64MiB

grain/saturation
  smoke                   direction=read,write  width=4,16  bytes=1MiB
  quick paper acceptance  direction=read,write  width=4,16  bytes=64MiB
  full        gpu=first   direction=read,write  width=4,16  bytes=64MiB
  smoke                   direction=read,write  load=bulk   bytes=1MiB
  quick paper             direction=read,write  load=bulk   bytes=64MiB
  full        gpu=first   direction=read,write  load=bulk   bytes=64MiB
  full paper  gpu=first   direction=read,write  load=vector,bulk  blocks=1,2,4,8,16  bytes=64MiB
  smoke                   direction=read        width=16    bytes=1MiB   memory=managed_host
  full paper  gpu=first   direction=read,write  width=16    bytes=64MiB  memory=managed_host

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
  quick       node=nearest  orders=one  path=$card,$peers  bytes=4MiB  width=32,512,64KiB   method=$flat_box
  quick       node=nearest  orders=one  path=host_to_gpu,$peers  width=16   rows=508  planes=508  pitch=512  plane_rows=512  method=$deep_box
  quick       node=nearest  orders=one  path=host_to_gpu,$peers  width=480  rows=2    planes=508  pitch=512  plane_rows=512  method=$deep_box
  quick       node=nearest  orders=one  path=host_to_gpu,$peers  width=480  rows=508  planes=2    pitch=512  plane_rows=512  method=$deep_box
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

# The fastest way by the size and the number of pages, both ways. Then what else it depends on: whether pages are
# neighbours, how large the pool is that they lie in (of 4 GiB the GPU's address translation covers a part), and
# how many blocks a kernel has.
let each_way = one_by_one,batch,batch_merged,graph,kernel,bulk,cpu_gather
let few_ways = batch,kernel,cpu_gather
let ways     = batch,kernel,bulk,cpu_gather
let on_cards = one_by_one,batch,graph,kernel,bulk

shape/pages
  smoke       node=nearest  orders=one  path=$card,gpu_to_peer  page=4KiB  pages=64  method=$each_way,staged
  smoke       node=nearest              path=$both_ways         page=4KiB  pages=64  method=staged  order=packed
  smoke       node=nearest  orders=one  path=$both_ways         page=4KiB  pages=64  method=relay
  quick       node=nearest  path=$both_ways  page=4KiB,64KiB        pages=64,1024  method=$few_ways
  quick       node=nearest  path=$both_ways  page=4KiB              pages=4096     method=batch,kernel
  quick       node=nearest  orders=one  path=$both_ways  page=64KiB  pages=1024    method=relay
  full        gpu=first  path=$both_ways  page=1KiB,4KiB,16KiB,28KiB,64KiB,256KiB  pages=16,256  method=$ways
  full        gpu=first  path=$both_ways  page=4KiB,28KiB  pages=4096    method=$ways
  full        gpu=first  path=$both_ways  page=4KiB,64KiB  pages=16,256  method=one_by_one,graph
  full        gpu=first  path=$both_ways  page=4KiB        pages=4096    method=batch,batch_merged,kernel  order=sorted,runs
  full        gpu=first  path=$both_ways  page=4KiB,64KiB  pages=256     method=batch,kernel,staged        order=packed
  full        gpu=first  path=$both_ways  page=4KiB        pages=4096    method=kernel        blocks=1,2,4,16
  full        gpu=first  path=$both_ways  page=4KiB        pages=4096    method=batch,kernel  pool=4GiB
  full        gpu=first  path=$both_ways  page=4KiB        pages=4096    method=kernel,bulk,cpu_gather  memory=registered,managed_host
  full        gpu=first  path=local       page=4KiB,64KiB  pages=256     method=$on_cards
  full        path=gpu_to_peer          page=4KiB,64KiB  pages=256     method=$on_cards,staged
  paper       path=$card,gpu_to_peer    page=4KiB,28KiB,64KiB     pages=16..x4..1024  method=$each_way,staged
  paper       path=$card,gpu_to_peer    page=1KiB,16KiB,256KiB    pages=256           method=$each_way,staged
  paper       path=$both_ways  page=4KiB,24KiB,28KiB,36KiB,64KiB  pages=4096,16384  method=$ways
  paper       path=$both_ways  page=4KiB,28KiB  pages=100000    method=$ways
  paper       path=$both_ways  page=4KiB,64KiB  pages=64,4096   method=batch,batch_merged,kernel  order=sorted,runs
  paper       path=$both_ways  page=4KiB,64KiB  pages=64,4096   method=batch,kernel,staged        order=packed
  paper       path=$both_ways  page=4KiB        pages=4096      method=kernel,bulk         blocks=1..32
  paper       path=$both_ways  page=4KiB        pages=4096      method=batch,kernel,bulk   pool=256MiB..x4..16GiB
  acceptance  node=nearest  path=$card,gpu_to_peer  page=4KiB  pages=256  method=$on_cards
# Relayed by a neighbour, beside the kernel of one GPU; in paper also fewer bytes, other shares, more neighbours.
  full paper  gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=4KiB,16KiB    pages=16384  method=kernel,relay
  full paper  gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=64KiB,256KiB  pages=1024   method=kernel,relay
  full paper  gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=4KiB          pages=16384  method=kernel,relay  memory=managed_host
  paper       gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=64KiB  pages=16..x4..256  method=kernel,relay
  paper       gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=64KiB  pages=1024  method=relay  share=10,30,50,70
  paper       gpu=first  node=nearest  pairs=first  orders=one  path=$both_ways  page=64KiB  pages=4096  method=relay  neighbours=1,2,3

# ---- reach ---------------------------------------------------------------------------------------------------

# A wall in the GPU's own node, by cudaHostAlloc; of other memories, a far node and a peer a few points that
# show whether they have another. locality=local: of nodes that are not known to be remote. In full spans lie
# closer where the rates of small rows fall on an H100: a knee is told no closer than the spans around it.
let other_memories = registered,transparent_huge,hugetlb,vmm_host,managed_host
let between_octaves = 320MiB,384MiB,448MiB,640MiB,768MiB,896MiB

reach/gather
  smoke       memory=peer                              span=64MiB
  smoke       memory=$other_memories  locality=local   span=64MiB
  smoke       memory=host_alloc       locality=remote  span=64MiB
  smoke       memory=host_alloc       locality=local   span=64MiB  row=128,4096
  smoke       memory=host_alloc       locality=local   span=64MiB  order=sorted
  smoke       memory=managed_host     locality=local   span=64MiB  beside=host_write
  quick       memory=peer                              span=256MiB,2GiB
  quick       memory=$other_memories  locality=local   span=1GiB
  quick       memory=managed_host     locality=local   span=2GiB  row=32,512
  quick       memory=host_alloc,managed_host  locality=local  gpu=first  span=2GiB  gpus=2
  quick       memory=host_alloc       locality=remote  span=256MiB,2GiB
  quick       memory=host_alloc       locality=local   span=64MiB,256MiB..2GiB
  quick       memory=host_alloc       locality=local   span=64MiB,256MiB..1GiB  row=4096
  quick       memory=host_alloc       locality=local   span=64MiB,256MiB..1GiB  order=sorted
  full        memory=peer                                         span=256MiB,1GiB,8GiB  order=as_asked,sorted
  full        memory=peer                                         span=256MiB,1GiB,8GiB  row=4096
  full        memory=$other_memories  locality=local   gpu=first  span=256MiB,1GiB,8GiB  order=as_asked,sorted
  full        memory=$other_memories  locality=local   gpu=first  span=256MiB,1GiB,8GiB  row=4096
  full        memory=managed_host     locality=local   gpu=first  span=64MiB,1GiB,4GiB,8GiB,32GiB  row=32,64,128,512
  full        memory=managed_host     locality=local   gpu=first  span=8GiB  touch_threads=1
  full        memory=host_alloc,managed_host  locality=local  gpu=first  span=2GiB,32GiB  gpus=2
  full paper  memory=host_alloc,managed_host  locality=local  gpu=first  span=8GiB  beside=host_read,host_write
  full        memory=host_alloc       locality=remote  gpu=first  span=256MiB,1GiB,8GiB  order=as_asked,sorted
  full        memory=host_alloc       locality=remote  gpu=first  span=256MiB,1GiB,8GiB  row=4096
  full        memory=host_alloc       locality=local   gpu=first  span=64MiB..32GiB      row=32..4096
  full        memory=host_alloc       locality=local   gpu=first  span=$between_octaves  row=32..256
  full        memory=host_alloc       locality=local   gpu=first  span=64MiB..32GiB      row=128,512,4096  order=sorted
  full        memory=host_alloc       locality=local   gpu=first  span=8GiB,32GiB  order=sorted  rows=262144,2097152..8388608
  paper       memory=peer                              span=256MiB..x4..16GiB
  paper       memory=$other_memories  locality=local   span=256MiB..x4..16GiB
  paper       memory=managed_host     locality=local   span=256MiB..x4..4GiB,8GiB,32GiB,56GiB,64GiB,96GiB  row=32,64,128,512,4096
  paper       memory=managed_host     locality=local   span=8GiB,32GiB  touch_threads=1
  paper       memory=managed_host     locality=local   gpu=first  span=32GiB  free_pieces=64KiB,256KiB
  paper       memory=host_alloc       locality=remote  span=256MiB..x4..16GiB
  paper       memory=host_alloc       locality=local   span=256MiB..x4..4GiB,8GiB,most,32GiB..64GiB  row=128,512,4096
  paper       memory=host_alloc       locality=local   span=256MiB..x4..4GiB,8GiB,most,32GiB..64GiB  row=128,512  order=sorted
  paper       memory=host_alloc       locality=local   span=8GiB,32GiB  order=sorted  rows=262144,2097152..8388608
  acceptance  memory=peer                              span=256MiB,2GiB
  acceptance  memory=$other_memories  locality=local   span=256MiB,2GiB
  acceptance  memory=host_alloc       locality=remote  span=256MiB,2GiB
  acceptance  memory=host_alloc       locality=local   span=256MiB,4GiB  row=128,4096
  acceptance  memory=host_alloc       locality=local   span=256MiB,4GiB  order=sorted

# ---- gather --------------------------------------------------------------------------------------------------

# Tables are on the node nearest to the GPU, by rising span. In order: the CPU alone; which mode asks for fewest
# lines (figure 3.10, rows of real data sets); the translation wall, as asked and in the order of addresses;
# copies; stores; rows that a graph's mini-batches ask for. `batches` of them are in a trace. features=given:
# with --features alone, features=none: without.
gather
  smoke  mode=cpu_gather       store=pageable  row=1028  span=64MiB
  smoke  mode=masked           row=1028  span=64MiB
  smoke  mode=address_ordered  row=128   span=64MiB
  smoke  mode=bulk             row=1024  span=64MiB
  smoke  mode=masked           row=512   span=64MiB  store=managed  rows=4096  hint=read_mostly,preferred_host
  smoke  indices=sampled  graph=power  batch=100  row=128  mode=address_ordered
  smoke  indices=sampled  graph=power  batch=100  mode=cpu_gather  store=pageable  features=given

  quick  mode=cpu_gather  store=pageable  row=128,1028  span=256MiB
  quick  row=1024,1028,1040    span=1GiB    mode=naive,circular_shift,masked  width=element
  quick  row=1024,1028,1040    span=1GiB    mode=masked
  quick  row=2312              span=1GiB    mode=naive,masked  width=element
  quick  row=512               span=1GiB    mode=masked,vector
  quick  row=128,512           span=2GiB    mode=masked,graphbolt,address_ordered
  quick  row=128               span=2GiB    mode=masked  memory=managed_host
  quick  row=128               span=256MiB  mode=masked,bulk
  quick  row=1024              span=1GiB    mode=bulk
  quick  row=1028              span=1GiB    mode=cpu_gather_dma  store=pinned,pageable
  quick  row=4096,131072       span=1GiB    mode=row_dma  store=pinned  rows=512
  quick  row=4096,131072       span=1GiB    mode=masked                 rows=512
  quick  store=device     row=512  span=1GiB    mode=masked
  quick  store=managed    row=512  span=256MiB  mode=masked  rows=16384  hint=none,accessed_by
  quick  store=mapped     row=512  span=1GiB    mode=masked  indices=zipf
  quick  store=tiered     row=512  span=1GiB    mode=masked  indices=zipf
  quick  store=multi_gpu  row=512  span=4GiB    mode=masked
  quick  indices=sampled  graph=pareto:20  mode=masked,graphbolt
  quick  indices=sampled  graph=pareto:20  mode=address_ordered  window=1,4
  quick  indices=sampled  graph=pareto:20  mode=masked  store=tiered
  quick  indices=sampled  graph=pareto:20  mode=cpu_gather  store=pageable  features=given

  full  mode=cpu_gather  store=pageable  row=32,128,512,1024,1028,4096,16384  span=1GiB
  full  mode=cpu_gather  store=pageable  row=1028                             span=256MiB,4GiB
  full  gpu=first  row=1024,1028,1040,188,400,1260,2312,3072  span=1GiB  mode=naive,circular_shift,masked  width=element
  full  gpu=first  row=1024,1028,1040,188,400,1260,2312,3072  span=1GiB  mode=masked,vector
  full  gpu=first  row=4,16..x2..512,4096,16384  span=1GiB  mode=naive,masked,address_ordered
  full  gpu=first  row=128,512  span=64MiB,256MiB,4GiB,8GiB..x4..32GiB  mode=masked,graphbolt,address_ordered
  full  gpu=first  row=64,128,512,4096,16384  span=1GiB    mode=bulk
  full  gpu=first  row=128,1024               span=256MiB  mode=masked,bulk
  full  gpu=first  row=128,512                span=32GiB   mode=bulk
  full  gpu=first  row=128                    span=4GiB    mode=bulk  store=device,tiered
  full  gpu=first  row=128,512                span=32GiB   mode=bulk  memory=managed_host
  full  gpu=first  row=128      span=32GiB  mode=address_ordered  window=2,4,8,16
  full  gpu=first  row=64,128,512             span=8GiB,32GiB  mode=masked  memory=managed_host
  full  gpu=first  row=128      span=32GiB  mode=masked  memory=registered
  full  gpu=first  row=128      span=8GiB   mode=address_ordered  window=4
  full  gpu=first  row=512      span=32GiB  mode=address_ordered  window=4
  full  gpu=first  row=128      span=4GiB   mode=masked,address_ordered,graphbolt  rows=1024..x4..1048576
  full  gpu=first  row=1030,768  element=2  span=1GiB  mode=naive,circular_shift,masked  width=element
  full  gpu=first  row=1030,768  element=2  span=1GiB  mode=vector,masked,address_ordered
  full  gpu=first  row=128,1028,4096,16384         span=4GiB  mode=cpu_gather_dma  store=pinned,pageable
  full  gpu=first  row=4096,65536,131072,1048576   span=4GiB  mode=row_dma  store=pinned  rows=512
  full  gpu=first  row=4096,65536,131072,1048576   span=4GiB  mode=masked                 rows=512
  full  gpu=first  store=device     row=128,1028  span=4GiB    mode=masked,address_ordered
  full  gpu=first  store=managed    row=128,1028  span=256MiB  mode=masked  rows=16384
  full  gpu=first  store=managed    row=512       span=256MiB  mode=masked  rows=16384  hint=$hints
  full  gpu=first  store=mapped     row=128,1028  span=4GiB    mode=masked,address_ordered,graphbolt  indices=zipf
  full  gpu=first  store=tiered     row=128,1028  span=4GiB    mode=masked,address_ordered  indices=zipf  hot=1,5,10,25,50
  full  gpu=first  store=multi_gpu  row=128,1028  span=4GiB    mode=masked  indices=zipf  hot=1,5,10,25,50
  full  gpu=first  store=multi_gpu  row=128,1028  span=4GiB    mode=masked  hot=100
  full  gpu=first  store=multi_gpu  row=128,1028  span=4GiB    mode=masked  indices=zipf  replicated=1
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=naive,circular_shift,masked,graphbolt
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=address_ordered  window=1,4,16
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=cpu_gather_dma  store=pinned
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=masked  store=tiered  hot=1,5,10,25,50
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=masked  store=device
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  mode=cpu_gather  store=pageable
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  mode=cpu_gather_dma  store=pageable  features=none
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  mode=row_dma  store=pinned  features=none
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  mode=vector,bulk  features=none
  full  gpu=first  indices=sampled  graph=pareto:22  batches=64  mode=masked  store=managed,multi_gpu  features=none

  paper  mode=cpu_gather  store=pageable  row=32,128,512,1024,1028,4096,16384  span=256MiB,1GiB,4GiB
  paper  row=1024,1028,1032,1036,1040,1044,1260,2312,1536,3072  span=1GiB  mode=naive,circular_shift,masked  width=element
  paper  row=1024,1028,1032,1036,1040,1044,1260,2312,1536,3072  span=1GiB  mode=masked,vector
  paper  row=128,512  span=256MiB..x4..4GiB,8GiB..x4..32GiB  mode=masked,graphbolt,address_ordered
  paper  row=128      span=32GiB  mode=address_ordered  window=16
  paper  row=1024,1028,1032,1036,1040,1044,16384  span=4GiB  mode=cpu_gather_dma  store=pinned,pageable
  paper  row=16384,65536,131072  span=1GiB  mode=row_dma  store=pinned  rows=512
  paper  row=16384,65536,131072  span=1GiB  mode=masked                 rows=512
  paper  store=device     row=1260  span=4GiB  mode=masked
  paper  store=tiered     row=1260  span=4GiB  mode=masked  indices=zipf  hot=10,25
  paper  store=multi_gpu  row=1260  span=4GiB  mode=masked  indices=zipf
  paper  row=128,512  span=4GiB,32GiB  mode=masked  memory=host_alloc,managed_host  neighbours=0,1  gpu=first
  paper  row=128      span=32GiB  mode=address_ordered  window=4  neighbours=0,1  gpu=first
  paper  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=naive,circular_shift,masked,graphbolt
  paper  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=address_ordered  window=1,4,16
  paper  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=cpu_gather_dma  store=pinned
  paper  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=masked  store=tiered  hot=1,5,10,25,50
  paper  indices=sampled  graph=pareto:22  batches=64  row=512,1260  mode=masked  store=device
  paper  indices=sampled  graph=pareto:22  batches=64  mode=cpu_gather  store=pageable  features=given

  acceptance  mode=cpu_gather  store=pageable  row=1028  span=256MiB
  acceptance  row=512,1028  span=1GiB  mode=masked
  acceptance  row=128       span=4GiB  mode=masked,graphbolt,address_ordered

gather/bag
  smoke  span=64MiB  bags=256
  quick  span=1GiB  indices=uniform,zipf
  quick  span=1GiB  store=tiered
  full   gpu=first  span=4GiB  indices=uniform,zipf
  full   gpu=first  span=4GiB  row=64,128,512  store=mapped,tiered
  full   gpu=first  span=16GiB  row=128  store=mapped,tiered  memory=managed_host
  full   gpu=first  span=4GiB  pooling=1
  full   gpu=first  span=4GiB  pooling=80  bags=1024
  full   gpu=first  span=4GiB  store=tiered  hot=1,10,25
  full   gpu=first  span=4GiB  store=device,multi_gpu
  paper  span=4GiB  indices=uniform,zipf
  paper  span=4GiB  row=64,128,512  store=mapped,tiered
  paper  span=4GiB  pooling=1
  paper  span=4GiB  pooling=80  bags=1024
  paper  span=4GiB  store=tiered  hot=1,10,25
  paper  span=4GiB  store=device,multi_gpu

# ---- sm_share ------------------------------------------------------------------------------------------------

# In full fewer shares by MPS: one client takes a second to start, two take two.
let some_sms      = 2,4,6,8,12,16,24,32,48,64,96
let some_percents = 2.5,5,7.5,10,15,20,25,30,40,50

sm_share/gather
  smoke       by=green_context   sms=8           span=64MiB
  smoke       by=mps_percentage  percent=10      span=64MiB
  quick       by=green_context   width=4,16      span=256MiB  sms=8,16,32
  quick       by=grid_cap        sms=8           span=256MiB
  quick       by=unlimited       width=4,16      span=256MiB
  quick       by=mps_percentage  percent=10      span=256MiB
  full        by=green_context   width=4,8,16    gpu=first  span=1GiB  sms=$some_sms
  full        by=grid_cap        width=4,16      gpu=first  span=1GiB  sms=$some_sms
  full        by=grid_cap        width=8         gpu=first  span=1GiB  sms=8,16,32
  full        by=unlimited       width=4,8,16    gpu=first  span=1GiB
  full        by=mps_percentage  width=4,16      gpu=first  span=1GiB  percent=2.5,5,10,25,50,100
  full        by=mps_percentage  width=8         gpu=first  span=1GiB  percent=10
  full        by=exec_affinity   width=4,8,16    gpu=first  span=1GiB  sms=4,16,64
  full        by=green_context   width=16        gpu=first  span=1GiB  sms=4,16,64    mode=bulk
  paper       by=green_context   width=4,8,16    span=1GiB  sms=$some_sms
  paper       by=grid_cap        width=4,16      span=1GiB  sms=$some_sms
  paper       by=grid_cap        width=8         span=1GiB  sms=8,16,32
  paper       by=unlimited       width=4,8,16    span=1GiB
  paper       by=mps_percentage  width=4,8,16    span=1GiB  percent=2.5,5,7.5,10,15,20,25,30,40,50,100
  paper       by=exec_affinity   width=4,8,16    span=1GiB  sms=2..64
  paper       by=green_context   width=16        span=1GiB  sms=$some_sms  mode=bulk
  acceptance  by=green_context   sms=8           span=1GiB

sm_share/split
  smoke       by=green_context   consumer=products,graphsage  span=64MiB   percent=10
  quick       by=unlimited       consumer=products,graphsage  span=256MiB
  quick       by=grid_cap                                     span=256MiB  percent=10
  quick       by=green_context                                span=256MiB  percent=10,25
  quick       by=mps_percentage                               span=256MiB  percent=10
  quick       by=green_context   consumer=graphsage           span=256MiB  percent=10
  full        by=grid_cap,green_context        consumer=products,graphsage  gpu=first  span=1GiB  percent=$some_percents
  full        by=green_context   width=4,8     consumer=products,graphsage  gpu=first  span=1GiB  percent=10
  full        by=mps_percentage,exec_affinity  consumer=products,graphsage  gpu=first  span=1GiB  percent=2.5,5,10,25,50
  full        by=unlimited                     consumer=products,graphsage  gpu=first  span=1GiB
  full        by=green_context   mode=bulk     consumer=products,graphsage  gpu=first  span=1GiB  percent=5,10,25
  paper       by=grid_cap,green_context        consumer=products,graphsage  span=1GiB  percent=$some_percents
  paper       by=green_context   width=4,8     consumer=products,graphsage  span=1GiB  percent=10
  paper       by=mps_percentage,exec_affinity  consumer=products,graphsage  span=1GiB  percent=$some_percents
  paper       by=unlimited                     consumer=products,graphsage  span=1GiB
  paper       by=green_context   mode=bulk     consumer=products,graphsage  span=1GiB  percent=$some_percents
  acceptance  by=green_context   consumer=products,graphsage  span=256MiB  percent=10

# ---- traversal -----------------------------------------------------------------------------------------------

let middle  = kron:21,urand:21,web:20
let large   = kron:24,urand:24,dense:18,web:22
let program = bfs,cc,pr,sssp
let walks   = naive,merged,merged_aligned,merged_aligned_chunked,edge_gather
let balance = merged_aligned_by_16,merged_aligned_by_8,merged_aligned_by_4,block_mapped,merge_path
let pulls   = merged_aligned,edge_gather

# Every way to walk over the link, one elsewhere to compare with. A search by pull reads what is not reached yet in
# every level: over a graph of many levels, which a user may name, that takes hours. Bringing managed edges back
# before each trial takes longer than the trial: a short run does so for bfs alone. In full one graph of three is walked in every
# way, and any that the user names.
traversal
  smoke       graph=power             placement=mapped,managed,device  edge=8,4  algorithm=$program
  smoke       graph=power             placement=subway                 edge=8,4  algorithm=$program  access=compact
  smoke       graph=power             placement=managed                edge=8    algorithm=bfs       hint=$hints
  smoke       graph=power             placement=mapped                 edge=8    algorithm=$program  access=$balance
  smoke       graph=power             placement=device                 edge=4    algorithm=bfs,pr    access=$pulls                      direction=pull
  quick       graph=kron:19           placement=mapped                 edge=8    algorithm=bfs       access=$walks
  quick       graph=kron:19,urand:19  placement=mapped                 edge=4    algorithm=bfs       access=merged_aligned,edge_gather
  quick       graph=kron:19,urand:19  placement=mapped,device          edge=8    algorithm=$program
  quick       graph=kron:19           placement=mapped,device          edge=4    algorithm=$program
  quick       graph=kron:19           placement=managed                edge=8    algorithm=bfs
  quick       graph=kron:19           placement=managed                edge=8    algorithm=bfs       hint=none,accessed_by
  quick       graph=kron:19,urand:19  placement=mapped                 edge=8    algorithm=bfs       memory=managed_host
  quick       graph=kron:19,urand:19  placement=subway                 edge=8    algorithm=$program  access=compact
  full        graph=kron:21,given     placement=mapped                 edge=8    algorithm=$program  access=$walks                      gpu=first
  full        graph=$middle           placement=mapped                 edge=8    algorithm=bfs       access=$walks                      gpu=first
  full        graph=$middle           placement=mapped                 edge=4    algorithm=bfs       access=merged_aligned,edge_gather  gpu=first
  full        graph=given             placement=mapped                 edge=4    algorithm=bfs       access=$walks                      gpu=first
  full        graph=$middle,given     placement=mapped,device          edge=8,4  algorithm=$program  gpu=first
  full        graph=$middle,given     placement=mapped                 edge=8    algorithm=$program  memory=managed_host  gpu=first
  full        graph=$middle,given     placement=mapped                 edge=8    algorithm=$program  gpus=2,all  gpu=first
  full        graph=kron:21,given     placement=mapped,device          edge=8    algorithm=bfs       access=$walks,$balance              gpu=first
  full        graph=kron:21           placement=mapped,device          edge=8    algorithm=bfs       access=$pulls                      direction=pull  gpu=first
  full        graph=kron:21,given     placement=mapped,device          edge=8    algorithm=pr        access=$pulls                      direction=pull  gpu=first
  full        graph=kron:21,given     placement=peer,interleaved       edge=8    algorithm=$program  gpu=first
  full        graph=urand:21,web:20   placement=managed                edge=8    algorithm=bfs       gpu=first
  full        graph=kron:21           placement=managed                edge=8    algorithm=$program  gpu=first
  full        graph=given             placement=managed                edge=8,4  algorithm=$program  gpu=first
  full        graph=kron:21           placement=managed                edge=8    algorithm=bfs       hint=$hints  gpu=first
  full        graph=$middle,given     placement=subway                 edge=8,4  algorithm=$program  access=compact                     gpu=first
  full        graph=kron:21,given     placement=mapped,managed,device  edge=8    algorithm=bfs       order=degree,halo_like  gpu=first
  paper       graph=$large            placement=mapped                 edge=8,4  algorithm=$program  access=$walks
  paper       graph=kron:24,urand:24  placement=mapped                 edge=8,4  algorithm=bfs,sssp  access=$walks                      sources=emogi
  paper       graph=$large            placement=managed,device         edge=8,4  algorithm=$program
  paper       graph=$large            placement=subway                 edge=8,4  algorithm=$program  access=compact
  paper       graph=road:20           placement=mapped,device          edge=8,4  algorithm=$program
  paper       graph=$large            placement=mapped                 edge=8,4  algorithm=$program  gpus=2,all
  paper       graph=$large            placement=mapped                 edge=8    algorithm=$program  gpus=2,all  divide=vertices
  paper       graph=$large            placement=device                 edge=8    algorithm=$program  gpus=2,all
  paper       graph=$large,road:20    placement=mapped,device          edge=8    algorithm=bfs       access=$walks,$balance
  paper       graph=kron:24,road:20   placement=device                 edge=8    algorithm=sssp,cc,pr  access=$walks,$balance
  paper       graph=kron:24,urand:24  placement=mapped,device          edge=8    algorithm=bfs,pr    access=$pulls                      direction=pull
  paper       graph=$large            placement=peer,interleaved       edge=8    algorithm=$program  access=$walks
  paper       graph=$large            placement=interleaved            edge=8    algorithm=$program  gpus=2,all
  paper       graph=$large            placement=mapped,managed,device  edge=8    algorithm=bfs       order=degree,halo_like
  acceptance  graph=kron:20,urand:20  placement=mapped                 edge=8,4  algorithm=bfs       access=$walks
  acceptance  graph=kron:20,urand:20  placement=mapped,managed,device  edge=8,4  algorithm=$program
  acceptance  graph=kron:20,urand:20  placement=subway                 edge=8,4  algorithm=$program  access=compact

# ---- lean ----------------------------------------------------------------------------------------------------

# Each technique alone, and together; none in acceptance, where a link and its host are accepted, not an
# algorithm. hot_budget=given: what --hot-budget names, beside the shares.
lean
  smoke  graph=power             algorithm=$program  lists=plain,compressed
  smoke  graph=power             algorithm=pr,sssp   lists=plain,compressed  segments=hybrid
  smoke  graph=power             algorithm=$program  answers=mapped
  smoke  graph=power             algorithm=bfs       lists=plain,compressed  answers=parents
  smoke  graph=power             algorithm=$program  tier=lists  hot=100
  smoke  graph=power             algorithm=sssp      packed=off,on  weights=1-255
  smoke  graph=power             algorithm=$program  lists=plain,compressed  tier=heads  hot=25
  smoke  graph=power             algorithm=$program  lists=plain,compressed  tier=heads  hot_budget=given
  quick  graph=kron:19,urand:19  algorithm=bfs       lists=plain,compressed
  quick  graph=kron:19,urand:19  algorithm=bfs       lists=plain,compressed  tier=heads  hot=25
  quick  graph=kron:19           algorithm=cc,pr,sssp
  quick  graph=kron:19,urand:19  algorithm=$program  lists=plain,compressed  tier=heads  hot_budget=given
  full   graph=$middle           algorithm=$program  lists=plain,compressed  gpu=first
  full   graph=$middle           algorithm=$program  lists=plain,compressed  memory=managed_host  gpu=first
  full   graph=$middle           algorithm=$program  lists=plain,compressed  gpus=2,all  gpu=first
  full   graph=$middle           algorithm=pr,sssp   lists=plain,compressed  segments=hybrid  gpu=first
  full   graph=$middle           algorithm=bfs       tier=heads        hot=1,5,10  gpu=first
  full   graph=$middle           algorithm=bfs       tier=lists,reuse  hot=25      gpu=first
  full   graph=$middle           algorithm=$program  lists=plain,compressed  tier=heads  hot=25  gpu=first
  full   graph=$middle           algorithm=$program  lists=plain,compressed  tier=heads  hot_budget=given  gpu=first
  paper  graph=$large            algorithm=$program  lists=plain,compressed
  paper  graph=$large            algorithm=$program  lists=plain,compressed  gpus=2,all
  paper  graph=$large            algorithm=$program  lists=plain             memory=managed_host  gpus=2,all
  paper  graph=$large            algorithm=pr,sssp   lists=plain,compressed  segments=hybrid
  paper  graph=$large            algorithm=$program  lists=plain,compressed  answers=mapped
  paper  graph=$large            algorithm=bfs       lists=plain,compressed  answers=parents
  paper  graph=$large            algorithm=$program  tier=lists  hot=100
  paper  graph=$large            algorithm=sssp      packed=on,off  weights=1-255
  paper  graph=kron:25,urand:25  algorithm=$program  lists=plain
  paper  graph=$large            algorithm=$program  lists=plain,compressed  tier=heads  hot=1,5,10,25
  paper  graph=$large            algorithm=bfs       tier=lists,reuse  hot=1,5,10,25
  paper  graph=$large            algorithm=$program  lists=plain,compressed  tier=heads  hot_budget=given

# ---- sampling ------------------------------------------------------------------------------------------------

let deep         = 10x10x10,12x12x12,25x15,10x10x10x10x10
let sampled_from = host,device,mapped,interleaved

# In full the other fan-outs are of one graph and the smaller batch.
sampling/neighbours
  smoke             graph=power                              fanout=5x5          batch=1000       placement=$sampled_from
  quick             graph=kron:19                            fanout=10x25        batch=1000,8000  placement=$sampled_from
  quick             graph=kron:19                            fanout=10x25        batch=1000       placement=mapped  memory=managed_host
  acceptance        graph=kron:20                            fanout=10x25        batch=1000,8000  placement=$sampled_from
  full              graph=web:20,urand:22,kron:22,pareto:22  fanout=10x25        batch=1000,8000  placement=$sampled_from  gpu=first
  full              graph=pareto:22                          fanout=$deep        batch=1000       placement=$sampled_from  gpu=first
  full              graph=pareto:22,kron:22                  fanout=10x25        batch=1000,8000  placement=mapped  memory=managed_host  gpu=first
  full              graph=given                              fanout=10x25,$deep  batch=1000,8000  placement=$sampled_from  gpu=first
  paper             graph=kron:24,urand:24,pareto:24,web:22  fanout=10x25,$deep  batch=1000,8000  placement=$sampled_from

# ---- tiering -------------------------------------------------------------------------------------------------

let scores      = degree,reverse_pagerank,weighted_reverse_pagerank,presampled,optimal
let deeper_runs = 12x12x12,25x15,10x10,10x10x10,10x10x10x10,10x10x10x10x10

# What fan-outs and labels change is looked at on smaller graphs: on one of scale 24 a visit takes tens of
# seconds. What scores differ by is looked at on graphs with topics, in mini-batches that do not cover them.
tiering/score
  smoke  graph=power                               fanout=5x5                 labelled=10    score=$scores  edges_at_most=1048576
  quick  graph=pareto:17                           fanout=10x25               labelled=10    score=$scores
  full   graph=pareto:22,web:20,pareto:18,kron:20  fanout=10x25               labelled=10    score=$scores
  full   graph=pareto:18                           fanout=10x25               labelled=1     score=$scores
  full   graph=pareto:18                           fanout=$deeper_runs        labelled=10    score=$scores
  full   graph=citation:20,papers:20  batch=2      fanout=10x10,10x10x10x10x10  labelled=1   score=$scores  edges_at_most=8388608
  full   graph=given                               fanout=10x25,$deeper_runs  labelled=1,10  score=$scores
  paper  graph=kron:24                             fanout=10x25               labelled=10    score=$scores  edges_at_most=134217728
  paper  graph=web:22                              fanout=10x25,$deeper_runs  labelled=1,10  score=$scores  edges_at_most=134217728
  paper  graph=citation:24,papers:24  batch=32     fanout=10x25,10x10x10x10x10  labelled=1   score=$scores  edges_at_most=134217728
  paper  graph=citation:20,papers:20  batch=2      fanout=10x10,10x10x10x10x10  labelled=10  score=$scores  edges_at_most=8388608

tiering/reorder
  smoke  graph=power                              lists=pasted,sorted
  quick  graph=pareto:17                          lists=pasted,sorted
  full   graph=kron:20,web:20,pareto:22           lists=pasted,sorted
  paper  graph=kron:24,urand:24,pareto:24,web:22  lists=pasted,sorted

# ---- pipeline ------------------------------------------------------------------------------------------------

let rows = 512,400,1260,2312

# The ways of the dissertation, and all rows on the GPU. A short run has few steps, so two GPUs at most. Two
# processes take seconds to start. In full one graph of two has the ways alone, to compare with.
pipeline/graphsage
  smoke       graph=power                    fanout=5x5       batch=200  batches=12  row=128  hidden=32  store=pageable       mode=cpu_only  products=plain,tiled
  smoke       graph=power                    fanout=5x5       batch=200  batches=12  row=128  hidden=32  store=device,mapped  mode=masked
  smoke       graph=power                    fanout=5x5       batch=200  batches=12  row=128  hidden=32  store=pinned         mode=cpu_gather_dma
  quick       graph=kron:19                  store=pageable              mode=cpu_only  products=tiled
  quick       graph=kron:19                  store=pinned                mode=cpu_gather_dma                        gpus=1,2
  quick       graph=kron:19                  store=device,mapped,tiered  mode=masked                                gpus=1,2
  quick       graph=kron:19                  store=mapped                mode=masked  memory=managed_host           gpus=1,2
  quick       graph=kron:19                  store=mapped                mode=naive,circular_shift,address_ordered  window=2
  acceptance  graph=kron:20                  store=mapped                mode=masked
  full        graph=pareto:22,kron:22,given  batches=72  store=pageable              mode=cpu_only  products=tiled              gpu=first
  full        graph=kron:22                  batches=72  store=pinned                mode=cpu_gather_dma                        gpu=first
  full        graph=kron:22                  batches=72  store=device,mapped,tiered  mode=masked                                gpu=first
  full        graph=kron:22                  batches=72  store=mapped                mode=naive,circular_shift,address_ordered  window=4      gpu=first
  full        graph=pareto:22,given          batches=72  row=$rows  store=pinned                mode=cpu_gather_dma                        gpus=1,2,all  gpu=first
  full        graph=pareto:22,given          batches=72  row=$rows  store=device,mapped,tiered  mode=masked                                gpus=1,2,all  gpu=first
  full        graph=pareto:22,given          batches=72  store=mapped,tiered         mode=masked  memory=managed_host           gpus=1,2      gpu=first
  full        graph=pareto:22,given          batches=72  row=$rows  store=mapped                mode=naive,circular_shift,address_ordered  window=4  gpu=first
  full        graph=pareto:22,given          batches=72  store=mapped                mode=address_ordered                       window=1,2,8  gpu=first
  full        graph=pareto:22,given          batches=72  store=tiered                mode=masked                                hot=1,5,25,50  gpu=first
  full        graph=pareto:22,given          batches=72  store=tiered                mode=address_ordered                       gpu=first
  full        graph=pareto:22,given          batch=8000  batches=32  store=pinned                mode=cpu_gather_dma                        gpu=first
  full        graph=pareto:22,given          batch=8000  batches=32  store=device,mapped,tiered  mode=masked                                gpu=first
  full        graph=pareto:22,given          batch=8000  batches=32  store=mapped                mode=naive,circular_shift,address_ordered  gpu=first
  full        graph=pareto:22,given          fanout=10x10x10  batches=72  store=pinned                mode=cpu_gather_dma                        gpu=first
  full        graph=pareto:22,given          fanout=10x10x10  batches=72  store=device,mapped,tiered  mode=masked                                gpu=first
  full        graph=pareto:22,given          fanout=10x10x10  batches=72  store=mapped                mode=naive,circular_shift,address_ordered  gpu=first
  full        graph=pareto:22,given          batches=72  store=mapped                mode=masked                                percent=2.5,5,10,25,50  gpu=first
  paper       graph=kron:22,pareto:22        batches=72  store=pageable              mode=cpu_only  products=tiled
  paper       graph=kron:22,pareto:22        batches=72  row=$rows  store=pinned                mode=cpu_gather_dma                        gpus=1,2,all
  paper       graph=kron:22,pareto:22        batches=72  row=$rows  store=device,mapped,tiered  mode=masked                                gpus=1,2,all
  paper       graph=kron:22,pareto:22        batches=72  row=$rows  store=mapped                mode=naive,circular_shift,address_ordered  window=4
  paper       graph=kron:22,pareto:22        batches=72  store=mapped                mode=address_ordered                       window=1,2,8
  paper       graph=kron:22,pareto:22        batches=72  store=tiered                mode=masked                                hot=1,5,25,50
  paper       graph=kron:22,pareto:22        batches=72  store=tiered                mode=address_ordered
  paper       graph=kron:22,pareto:22        batch=8000  batches=32  store=pinned                mode=cpu_gather_dma
  paper       graph=kron:22,pareto:22        batch=8000  batches=32  store=device,mapped,tiered  mode=masked
  paper       graph=kron:22,pareto:22        batch=8000  batches=32  store=mapped                mode=naive,circular_shift,address_ordered
  paper       graph=kron:22,pareto:22        fanout=10x10x10  batches=72  store=pinned                mode=cpu_gather_dma
  paper       graph=kron:22,pareto:22        fanout=10x10x10  batches=72  store=device,mapped,tiered  mode=masked
  paper       graph=kron:22,pareto:22        fanout=10x10x10  batches=72  store=mapped                mode=naive,circular_shift,address_ordered
  paper       graph=kron:22,pareto:22        batches=72  store=mapped                mode=masked                                percent=2.5,5,7.5,10,15,20,25,30,40,50
  paper       graph=pareto:22                batches=72  row=$rows  store=mapped                mode=naive,circular_shift,masked           bounded=off  gpus=1,2
  paper       graph=pareto:22                batches=72  store=pinned                mode=cpu_gather_dma                        placement=host  gpus=1,2
  paper       graph=pareto:22                batches=72  store=mapped,tiered         mode=masked                                placement=host  gpus=1,2
  paper       graph=pareto:22                batches=72  store=mapped                mode=masked                                placement=mapped  gpus=1,2
  paper       graph=pareto:22                batches=72  store=mapped,multi_gpu      mode=masked                                placement=interleaved  gpus=2,all
  paper       graph=pareto:22                batches=72  store=multi_gpu             mode=masked                                hot=1,5,10,25,50  gpus=2,all
  paper       graph=pareto:22                batches=72  store=device,mapped,multi_gpu  mode=masked                             processes=per_gpu  gpus=2,all
  paper       graph=pareto:22                batches=72  store=pinned                mode=cpu_gather_dma                        processes=per_gpu  placement=device,host  gpus=2,all
  paper       graph=pareto:22                batches=72  store=mapped                mode=masked                                processes=per_gpu  placement=host  gpus=2,all
  paper       graph=pareto:22                fanout=12x12x12,25x15  batches=72  store=mapped,tiered,device  mode=masked
  paper       graph=pareto:22                hidden=16,32,64,256,512  batches=72  store=mapped,device  mode=masked
  paper       graph=pareto:20                row=4KiB,8KiB,16KiB  batches=72  store=mapped,device  mode=masked  gpus=1,2
  paper       graph=pareto:20                row=4KiB,8KiB,16KiB  batches=72  store=mapped         mode=naive   bounded=on,off  gpus=1,2
  paper       graph=pareto:20                row=4KiB,8KiB,16KiB  batches=72  store=pinned         mode=cpu_gather_dma

# ---- model ---------------------------------------------------------------------------------------------------

# What is modelled says nothing of a machine: none of it is in acceptance. Of the papers' link every access, and
# what 4-byte edges change; of other links the best access.
let modelled       = power,pgp,kron:18,urand:18,dense:14,web:18
let large_modelled = power,pgp,kron:20,urand:20,dense:16,web:20
let other_links    = pcie4x16,pcie6x16,nvlink-c2c

model/traversal
  smoke  graph=power              algorithm=$program  link=pcie3x16               edge=8  access=$walks
  smoke  graph=power              algorithm=bfs       link=pcie3x16               edge=8  access=$balance
  smoke  graph=power              algorithm=$program  link=measured               edge=8  access=naive,merged,merged_aligned
  smoke  graph=power              algorithm=$program  link=measured               edge=4  access=merged_aligned
  quick  graph=power,pgp,kron:16  algorithm=$program  link=pcie3x16               edge=8  access=$walks
  quick  graph=power,pgp,kron:16  algorithm=$program  link=pcie3x16               edge=4  access=merged,merged_aligned
  quick  graph=power,pgp,kron:16  algorithm=$program  link=pcie5x16,$other_links  edge=8  access=merged_aligned
  quick  graph=power,pgp,kron:16  algorithm=$program  link=measured               edge=8  access=naive,merged,merged_aligned
  quick  graph=power,pgp,kron:16  algorithm=$program  link=measured               edge=4  access=merged_aligned
  full   graph=$modelled          algorithm=$program  link=pcie3x16,pcie5x16      edge=8  access=$walks                       gpu=first
  full   graph=$modelled          algorithm=bfs       link=pcie3x16               edge=8  access=$balance                     gpu=first
  full   graph=$modelled          algorithm=$program  link=pcie3x16               edge=4  access=naive,merged,merged_aligned  gpu=first
  full   graph=road:16            algorithm=$program  link=pcie3x16               edge=8  access=naive,merged_aligned         gpu=first
  full   graph=$modelled          algorithm=$program  link=pcie5x16,measured      edge=4  access=merged_aligned               gpu=first
  full   graph=$modelled          algorithm=$program  link=$other_links           edge=8  access=merged_aligned               gpu=first
  full   graph=$modelled          algorithm=$program  link=measured               edge=8  access=naive,merged,merged_aligned  gpu=first
  paper  graph=$large_modelled    algorithm=$program  link=pcie3x16,pcie5x16      edge=8  access=$walks                       sources_at_most=16
  paper  graph=$large_modelled    algorithm=bfs       link=pcie3x16               edge=8  access=$balance                     sources_at_most=16
  paper  graph=$large_modelled    algorithm=$program  link=pcie3x16               edge=4  access=naive,merged,merged_aligned  sources_at_most=16
  paper  graph=$large_modelled    algorithm=$program  link=pcie5x16,measured      edge=4  access=merged_aligned               sources_at_most=16
  paper  graph=$large_modelled    algorithm=$program  link=$other_links           edge=8  access=merged_aligned               sources_at_most=16
  paper  graph=$large_modelled    algorithm=$program  link=measured               edge=8  access=naive,merged,merged_aligned  sources_at_most=16

let cards = 25,50,75,100,125

model/uvm
  smoke  graph=power              algorithm=$program  link=pcie3x16,measured           page=64KiB      card=$cards
  quick  graph=power,pgp,kron:16  algorithm=$program  link=pcie3x16,measured           page=64KiB      card=$cards
  quick  graph=power,pgp,kron:16  algorithm=bfs       link=pcie3x16                    page=4KiB,2MiB  card=$cards
  full   graph=$modelled          algorithm=$program  link=pcie3x16,pcie4x16,measured  page=64KiB      card=$cards  gpu=first
  full   graph=$modelled          algorithm=bfs       link=pcie3x16                    page=4KiB,2MiB  card=$cards  gpu=first
  paper  graph=$large_modelled    algorithm=$program  link=pcie3x16,pcie4x16,measured  page=64KiB      card=$cards  sources_at_most=16
  paper  graph=$large_modelled    algorithm=bfs       link=pcie3x16                    page=4KiB,2MiB  card=$cards  sources_at_most=16

# Within reach of translations by rows; beyond it, where the batch decides, by spans.
let many_rows = 64,128,188,256,400,480,512,1024,1028,1032,1036,1040,1044,1260,1536,2312,3072,4096,16384

model/gather
  smoke  link=pcie4x16,measured           row=1028                          span=512MiB  mode=naive,circular_shift,masked
  quick  link=pcie4x16,pcie5x16,measured  row=480,1024,1028,1040,1260,2312  span=512MiB  mode=naive,circular_shift,masked
  quick  link=pcie5x16,measured           row=128                           rows=1048576  span=1GiB,4GiB,8GiB,32GiB  mode=masked,address_ordered  width=widest
  full   link=pcie4x16,pcie5x16,measured  row=$many_rows                    span=512MiB  mode=naive,circular_shift,masked  gpu=first
  full   link=pcie4x16,pcie5x16,measured  row=$many_rows                    span=512MiB  mode=masked,vector,graphbolt      width=widest  gpu=first
  full   link=pcie5x16,measured           row=128                           rows=1048576  span=1GiB,4GiB,8GiB,32GiB  mode=masked,address_ordered  width=widest  gpu=first
  full   link=pcie5x16,measured           row=128                           rows=1048576  span=32GiB                 mode=address_ordered         width=widest  window=16  gpu=first
  paper  link=pcie4x16,pcie5x16,measured  row=$many_rows                    span=512MiB  mode=naive,circular_shift,masked
  paper  link=pcie4x16,pcie5x16,measured  row=$many_rows                    span=512MiB  mode=masked,vector,graphbolt      width=widest
  paper  link=pcie5x16,measured           row=128                           rows=1048576  span=1GiB,4GiB,8GiB,32GiB  mode=masked,address_ordered  width=widest
  paper  link=pcie5x16,measured           row=128                           rows=1048576  span=32GiB                 mode=address_ordered         width=widest  window=16
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
  // 64 trials are what the GAP benchmark suite asks for; with them one visit to each case takes hours, a
  // quarter of which would go to some thirty rows that walk for long from each source. One visit tells a row
  // to some percent, however exact it is in itself, so `paper` asks no more of it than `quick`.
  static const PresetSampling smoke{
      {.ci_target = 0.1, .budget_s = 0.05, .max_samples = 64, .warmups = 1}, 1, 2};
  static const PresetSampling quick{plan(0.02, 0.4, 2), 3, 4};
  static const PresetSampling full{plan(0.01, 0.75, 2), 3, 8};
  static const PresetSampling paper{plan(0.02, 0.4, 2), 1, 64, 10};
  static const PresetSampling acceptance{plan(0.01, 1.5, 3), 5, 16};
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

// From runs of `quick` on an H100 and on a node without a GPU, of a third of `full` and of parts of `paper`
// on H200s. Of a family that says what its visits take itself, the factor alone.
const std::map<std::string, VisitCost>& visit_costs() {
  static const std::map<std::string, VisitCost> costs{{"call", {0.87, 1.5}},
                                                      {"contention", {0.2, 1.3}},
                                                      {"gather", {1.1, 0}},
                                                      {"gather without a GPU", {2.4, 0.16}},
                                                      {"gather/bag", {1.1, 0}},
                                                      {"grain/gpu_memory", {0.98, 0}},
                                                      {"grain/pieces", {1.1, 0.28}},
                                                      {"grain/saturation", {0.28, 0.5}},
                                                      {"host/first_touch", {1.5, 1.2}},
                                                      {"host/flush", {0.87, 2.3}},
                                                      {"host/latency", {0.44, 2}},
                                                      {"host/malloc", {0.55, 1.3}},
                                                      {"host/memcpy", {0.31, 1.3}},
                                                      {"latency/chase", {1.9, 1.5}},
                                                      {"latency/flag", {0.87, 0}},
                                                      {"latency/managed_touch", {3, 0}},
                                                      {"lean/bfs", {0.25, 0.33}},
                                                      {"lean/cc", {1.1, 0.33}},
                                                      {"lean/pr", {2.2, 1.1}},
                                                      {"lean/sssp", {3.4, 0.66}},
                                                      {"model/bfs", {0.13, 0}},
                                                      {"model/cc", {2.5, 0}},
                                                      {"model/gather", {1.7, 0}},
                                                      {"model/pr", {0.1, 0}},
                                                      {"model/sssp", {0.13, 0}},
                                                      {"model/uvm", {20, 0}},
                                                      {"pipeline/graphsage", {0.2, 0.5}},
                                                      {"pipeline/graphsage without a GPU", {6.7, 0.25}},
                                                      {"reach/gather", {0.78, 0}},
                                                      {"sampling/neighbours", {0.2, 0.28}},
                                                      {"sampling/neighbours without a GPU", {0.2, 0.4}},
                                                      {"shape/copy", {0.22, 1.8}},
                                                      {"shape/pages", {0.98, 1}},
                                                      {"sm_share/gather", {0.28, 0}},
                                                      {"sm_share/split", {2.7, 0.061}},
                                                      {"tiering/reorder", {0.28, 2.3}},
                                                      {"tiering/score", {0.75, 0}},
                                                      {"transfer/collective", {3.1, 0.93}},
                                                      {"transfer/duplex", {0.25, 1.8}},
                                                      {"transfer/host_copy", {0.62, 1.3}},
                                                      {"transfer/kernel_copy", {0.2, 0.43}},
                                                      {"transfer/local", {0.2, 0}},
                                                      {"transfer/managed", {0.7, 2.3}},
                                                      {"transfer/memcpy", {0.2, 1.2}},
                                                      {"transfer/peer", {0.52, 0.16}},
                                                      {"transfer/relay", {1.5, 0.45}},
                                                      {"transfer/zero_copy", {0.2, 0.57}},
                                                      {"traversal/bfs", {1.1, 0.3}},
                                                      {"traversal/cc", {0.78, 0}},
                                                      {"traversal/pr", {0.2, 0.57}},
                                                      {"traversal/sssp", {0.2, 0.25}}};
  return costs;
}

}  // namespace grainscope::harness
