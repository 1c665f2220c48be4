#ifndef GRAINSCOPE_SRC_TRANSFER_PEER_ACCESS_HPP
#define GRAINSCOPE_SRC_TRANSFER_PEER_ACCESS_HPP

namespace grainscope::transfer {

// Lets two GPUs reach each other's memory, for the rest of the process. Throws SkipError where they cannot.
void enable_peer_access(int gpu, int peer);

}  // namespace grainscope::transfer

#endif
