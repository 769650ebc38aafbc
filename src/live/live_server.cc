// SPDX-License-Identifier: MIT
#include "live/live_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <charconv>
#include <thread>

#include "engine/check.h"
#include "text/tree.h"

namespace terrace {

namespace {

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost";
}

}  // namespace

LiveAddress parse_live_address(const std::string& text, bool open) {
  LiveAddress address;
  const std::size_t colon = text.rfind(':');
  std::string port = text;
  if (colon != text.npos) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size() || address.port < 0 || address.port > 65535 ||
      address.host.empty())
    input_error("--live takes a port such as 8080, or an address with a port such as 127.0.0.1:8080, not {}",
                printable(text));
  if (!is_loopback(address.host) && !open)
    input_error(
        "--live: others could watch and stop this run at {}; leave the address out, or add --live-open if you mean it",
        printable(text));
  return address;
}

struct LiveServer::Threads {
  httplib::Server server;
  std::thread listener;
};

LiveServer::LiveServer(LiveBoard& board, const LiveAddress& address, const LiveAssets& assets)
    : threads_(std::make_unique<Threads>()) {
  httplib::Server& server = threads_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(2); };
  server.set_keep_alive_max_count(1000);
  // A name of somebody else's that leads here would make their page ours.
  if (is_loopback(address.host)) {
    server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& answer) {
      const std::string host = request.get_header_value("Host");
      if (is_loopback(host.substr(0, host.find(':')))) return httplib::Server::HandlerResponse::Unhandled;
      answer.status = 403;
      return httplib::Server::HandlerResponse::Handled;
    });
  }
  server.Get("/", [](const httplib::Request&, httplib::Response& answer) {
    answer.set_content(live_page(), "text/html; charset=utf-8");
  });
  const auto asset = [&](const char* path, std::string_view text, const char* type) {
    server.Get(path, [text, type](const httplib::Request&, httplib::Response& answer) {
      answer.set_content(text.data(), text.size(), type);
    });
  };
  asset("/style.css", assets.style, "text/css; charset=utf-8");
  asset("/chart.js", assets.chart_script, "text/javascript; charset=utf-8");
  asset("/terrace.js", assets.script, "text/javascript; charset=utf-8");
  server.Get("/samples", [&board](const httplib::Request& request, httplib::Response& answer) {
    u64 from = 0;
    const std::string text = request.get_param_value("from");
    std::from_chars(text.data(), text.data() + text.size(), from);
    answer.set_content(board.samples(from), "application/json");
  });
  const auto button = [&](const char* path, LiveBoard::Request asked) {
    server.Post(path, [&board, asked](const httplib::Request& request, httplib::Response& answer) {
      // A page from elsewhere cannot send this header without asking first: only our own page presses buttons.
      if (!request.has_header("X-Terrace")) {
        answer.status = 403;
        return;
      }
      board.ask(asked);
    });
  };
  button("/pause", LiveBoard::Request::kPause);
  button("/resume", LiveBoard::Request::kResume);
  button("/step", LiveBoard::Request::kStep);
  button("/stop", LiveBoard::Request::kStop);
  int port = address.port;
  if (port == 0)
    port = server.bind_to_any_port(address.host);
  else if (!server.bind_to_port(address.host, port))
    port = -1;
  if (port <= 0)
    input_error("--live: port {} at {} cannot be opened; another program may have it: choose another port",
                address.port, address.host);
  url_ = fmt::format("http://{}:{}/", address.host, port);
  threads_->listener = std::thread([&server] { server.listen_after_bind(); });
}

LiveServer::~LiveServer() {
  // A server that has not begun to listen would not hear that it is to stop.
  while (!threads_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  threads_->server.stop();
  threads_->listener.join();
}

}  // namespace terrace
