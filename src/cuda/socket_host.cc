// SPDX-License-Identifier: MIT
#include "cuda/socket_host.h"

#include <poll.h>

#include "engine/interrupt.h"

namespace terrace::cuda {

std::unique_ptr<Connection> SocketHost::next() {
  while (!served_) {
    pollfd waiting{listening_.number(), POLLIN, 0};
    const int ready = poll(&waiting, 1, 100);
    check_interrupt();
    if (ready <= 0) continue;
    Descriptor accepted = accept_own(listening_);
    if (!accepted) continue;
    auto connection = std::make_unique<Connection>(std::move(accepted), patience_s_);
    if (!connection->begins_well()) continue;
    served_ = true;
    return connection;
  }
  return nullptr;
}

}  // namespace terrace::cuda
