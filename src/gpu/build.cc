// Builds the machine: every unit, every link, and who is at its ends.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "gpu/gpu.h"

namespace terrace {

u32 Gpu::inputs_of_mmu() const {
  // A TLB of a tenant's own has a miss port of its own.
  const bool apart = config_.mmu.back_pressure == MmuConfig::Scope::kTenant || config_.l2_tlb.per_tenant;
  return apart ? static_cast<u32>(tenants_.size()) : 1;
}

/// The wires of the L2 TLB and of MMUs; the units come when both of a wire's ends are known.
void Gpu::build_translation() {
  if (config_.translation == TranslateAt::kNowhere) return;
  const u32 mmus = config_.mmu.per_tenant ? static_cast<u32>(tenants_.size()) : 1;
  const auto wires = [&](u32 inputs, u32 latency, u32 replies) {
    TlbWires made;
    // An input that holds what is on the way runs at full rate.
    made.requests = std::make_unique<Funnel<TranslationRequest>>(scheduler_, inputs, latency, latency + 1);
    for (u32 i = 0; i < replies; ++i) made.replies.push_back(make_link<Translation>(latency));
    return made;
  };
  tlb_wires_ = wires(tlb_ports(), config_.l2_tlb.link_cycles, tlb_ports());
  if (config_.translates_in_sm() && config_.l2_tlb.fill.make({})->wants_merged_warps()) {
    const u32 latency = config_.l2_tlb.link_cycles;
    tlb_wires_.merged_warps = std::make_unique<Funnel<MergedWarp>>(scheduler_, tlb_ports(), latency, latency + 1);
  }
  for (u32 i = 0; i < mmus; ++i) mmu_wires_.push_back(wires(inputs_of_mmu(), config_.mmu.transit_cycles, 1));
  if (config_.has_fbt()) build_fbt();
}

/// The wires of the forward-backward table. It stands beside the L2 TLB.
void Gpu::build_fbt() {
  const u32 latency = config_.fbt.link_cycles, hop = config_.noc.latency, slices = config_.l2.slices;
  for (u32 i = 0; i < slices; ++i) {
    fbt_wires_.commands.push_back(make_link<SliceCommand>(latency));
    fbt_wires_.replays.push_back(std::make_unique<Funnel<AccessRef>>(scheduler_, slices, hop, hop + 1));
  }
  for (u32 i = 0; i < config_.sm.count; ++i) fbt_wires_.invalidations.push_back(make_link<PageInvalidation>(latency));
  fbt_wires_.acknowledgements = std::make_unique<Funnel<u32>>(scheduler_, config_.sm.count, latency, latency + 1);
  for (u32 i = 0; config_.fbt.second_level && i < mmu_wires_.size(); ++i) {
    fbt_wires_.from_tlb.push_back(std::make_unique<Funnel<TranslationRequest>>(scheduler_, inputs_of_mmu(), 1, 2));
    fbt_wires_.to_tlb.push_back(make_link<Translation>(1));
  }
}

Sm::Wiring Gpu::sm_wiring(u32 sm) {
  Translator::Wiring translation{config_.translation, spaces_, {}, &truth_.mistake};
  if (config_.translates_in_sm()) {
    translation.port = {tlb_wires_.requests.get(), tlb_wires_.replies[sm].get(), tlb_wires_.merged_warps.get()};
  }
  LoadStoreUnit::Wiring::Pages pages;
  if (config_.has_fbt()) {
    pages = {fbt_wires_.invalidations[sm].get(), fbt_wires_.acknowledgements.get(),
             config_.fbt.table_page_shift(spaces_.page_shift())};
  }
  return {{*requests_, *replies_, map_, accesses_, truth_, std::move(translation), pages},
          *starts_[sm],
          *done_[sm],
          streams_,
          config_.sm.count,
          config_.tenancy.flush_on_switch,
          config_.takes_turns() ? static_cast<u32>(tenants_.size()) : 0};
}

void Gpu::build_sms(const std::vector<std::vector<u32>>& sms_of_tenant) {
  const u32 sms = config_.sm.count, slices = config_.l2.slices;
  const u32 ports = sms + (config_.walks_use(WalkPath::Way::kL2) ? static_cast<u32>(mmu_wires_.size()) : 0);
  using Network = Crossbar<AccessRef>;
  const u32 slice_ports = config_.l2.ports;
  const NocConfig& noc = config_.noc;
  requests_ = std::make_unique<Network>(scheduler_, noc, ports, slices,
                                        Network::Ports{.input = noc.sm_ports,
                                                       .output = slice_ports,
                                                       .input_flits = noc.sm_send_flits,
                                                       .output_flits = noc.slice_receive_flits});
  replies_ = std::make_unique<Network>(scheduler_, noc, slices, ports,
                                       Network::Ports{.input = slice_ports,
                                                      .output = noc.sm_ports,
                                                      .input_flits = noc.slice_send_flits,
                                                      .output_flits = noc.sm_receive_flits});
  std::vector<BlockDispatcher::SmPort> sm_ports;
  for (u32 i = 0; i < sms; ++i) {
    starts_.push_back(std::make_unique<Link<BlockStart>>(scheduler_, LinkShape{}));
    done_.push_back(std::make_unique<Link<BlockDone>>(scheduler_, LinkShape{}));
    sm_ports.push_back({starts_[i].get(), done_[i].get()});
    sms_.push_back(std::make_unique<Sm>(scheduler_, config_.sm, config_.l1, config_.l1_tlb, config_.noc,
                                        config_.lines(), SmId(i), sm_wiring(i)));
  }
  dispatcher_ = std::make_unique<BlockDispatcher>(
      scheduler_, config_.whole_sm(), config_.sm.warp_width, sm_ports, sms_of_tenant, config_.takes_turns(),
      ContextMover(config_.dram.resolved().pin_bytes_per_second(), u64{config_.core_mhz} * 1'000'000),
      config_.tenancy.blocks_per_kcycle);

  const UnitId dispatcher = dispatcher_unit_ = scheduler_.add(*dispatcher_, "dispatcher");
  dispatcher_->connect(dispatcher);
  for (u32 i = 0; i < sms; ++i) {
    const UnitId unit = scheduler_.add(*sms_[i], fmt::format("sm.{}", i));
    sms_[i]->connect(unit);
    sm_units_.push_back(unit);
    starts_[i]->connect(dispatcher, unit);
    done_[i]->connect(unit, dispatcher);
    requests_->connect_input(i, unit);
    replies_->connect_output(i, unit);
    if (!config_.translates_in_sm()) continue;
    tlb_wires_.requests->connect_producer(i, unit);
    if (tlb_wires_.merged_warps) tlb_wires_.merged_warps->connect_producer(i, unit);
    tlb_port_units_.push_back(unit);
  }
}

DramChannelSetup Gpu::channel_setup(u32 channel) const {
  DramChannelSetup setup{.index = channel,
                         .core_mhz = config_.core_mhz,
                         .line_bytes = config_.line_bytes,
                         .tenants = static_cast<u32>(tenants_.size()),
                         .seed = config_.run.seed};
  for (u32 part = 0; part < memory_parts_; ++part) {
    const EvenShare share = even_share(config_.dram.channels, memory_parts_, part);
    if (channel < share.first || channel >= share.first + share.count) continue;
    setup.first = share.first;
    setup.channels = share.count;
  }
  return setup;
}

void Gpu::build_memory() {
  const u32 slices = config_.l2.slices, channels = config_.dram.channels;
  const PerformAtomic perform = [this](TenantId tenant, u32 atomic, u64 lanes) {
    streams_[index(tenant)]->perform_atomic(AtomicRef{atomic}, lanes);
  };
  for (u32 i = 0; i < channels; ++i) {
    channels_.push_back(std::make_unique<Channel>(config_.dram, channel_setup(i)));
    channels_[i]->observe(truth_);
    channel_units_.push_back(scheduler_.add(*channels_[i], fmt::format("dram.{}", i)));
  }
  for (u32 i = 0; i < slices; ++i) {
    L2Slice::Wiring::Names names;
    if (config_.has_fbt()) {
      names.commands = fbt_wires_.commands[i].get();
      for (const auto& replays : fbt_wires_.replays) names.replays.push_back(replays.get());
    }
    slices_.push_back(
        std::make_unique<L2Slice>(scheduler_, config_.l2, config_.noc, config_.lines(), accesses_,
                                  L2Slice::Wiring{*requests_, *replies_, i, way_to_memory(i), map_, truth_,
                                                  config_.translation == TranslateAt::kAfterL2, std::move(names),
                                                  static_cast<u32>(tenants_.size()), config_.run.seed},
                                  perform));
    const UnitId unit = scheduler_.add(*slices_[i], fmt::format("l2.{}", i));
    slices_[i]->connect(unit);
    slice_units_.push_back(unit);
    requests_->connect_output(i, unit);
    replies_->connect_input(i, unit);
  }
  connect_ways_to_memory();
}

/// What leaves a slice for memory was looked up before, which takes as long for a miss as for a hit.
MemoryPort::Wiring Gpu::way_to_memory(u32 slice) {
  const u32 channels = config_.dram.channels;
  const bool by_channel = config_.l2.slice_by == L2Config::SliceBy::kChannel;
  const bool translated = config_.translation == TranslateAt::kAfterL2;
  WayToMemory& way = ways_to_memory_.emplace_back();
  const u32 first = by_channel ? slice / (config_.l2.slices / channels) : 0;
  MemoryPort::Wiring wiring;
  for (u32 channel = first; channel < (by_channel ? first + 1 : channels); ++channel) {
    way.channels.push_back(channel);
    way.requests.push_back(make_link<DramRequest>((translated ? 0 : config_.l2.hit_cycles) + cycles_to_dram()));
    way.replies.push_back(make_link<DramReply>(config_.dram.link_cycles));
    if (!translated) wiring.requests.push_back(way.requests.back().get());
    wiring.replies.push_back(way.replies.back().get());
  }
  if (translated) {
    way.to_translator =
        make_link<DramRequest>(config_.l2.hit_cycles + (config_.has_fbt() ? config_.fbt.link_cycles : 0));
    wiring.requests.push_back(way.to_translator.get());
  }
  return wiring;
}

void Gpu::connect_ways_to_memory() {
  if (config_.has_fbt()) connect_fbt();
  for (u32 i = 0; i < slices_.size(); ++i) {
    WayToMemory& way = ways_to_memory_[i];
    UnitId sender = slice_units_[i];
    if (config_.has_fbt()) {
      sender = fbt_unit_;
    } else if (way.to_translator) {
      sender = connect_miss_translator(i);
    }
    for (u32 k = 0; k < way.channels.size(); ++k) {
      way.requests[k]->connect(sender, channel_units_[way.channels[k]]);
      way.replies[k]->connect(channel_units_[way.channels[k]], slice_units_[i]);
      channels_[way.channels[k]]->connect(*way.requests[k], *way.replies[k]);
    }
  }
}

UnitId Gpu::connect_miss_translator(u32 slice) {
  WayToMemory& way = ways_to_memory_[slice];
  MissTranslator::Wiring wiring{.from_slice = *way.to_translator,
                                .channels = {},
                                .map = map_,
                                .requests = *tlb_wires_.requests,
                                .answers = *tlb_wires_.replies[slice],
                                .port = slice,
                                .lines = config_.l2.miss_entries,
                                .write_backs = config_.l2.write_back_entries,
                                .line_shift = static_cast<u32>(std::countr_zero(config_.line_bytes)),
                                .page_shift = spaces_.page_shift()};
  for (const auto& link : way.requests) wiring.channels.push_back(link.get());
  miss_translators_.push_back(std::make_unique<MissTranslator>(wiring));
  const UnitId unit = scheduler_.add(*miss_translators_[slice], fmt::format("l2.{}.translator", slice));
  way.to_translator->connect(slice_units_[slice], unit);
  tlb_port_units_.push_back(unit);
  tlb_wires_.requests->connect_producer(slice, unit);
  return unit;
}

void Gpu::connect_fbt() {
  Fbt::Wiring wiring{.slices = {},
                     .mmus = {},
                     .sms = {},
                     .acknowledgements = *fbt_wires_.acknowledgements,
                     .map = map_,
                     .requests = *tlb_wires_.requests,
                     .lines_per_slice = config_.l2.miss_entries,
                     .notices_per_slice = config_.l2.write_back_entries,
                     .line_shift = static_cast<u32>(std::countr_zero(config_.line_bytes)),
                     .page_shift = spaces_.page_shift(),
                     .writable = [this](TenantId tenant, VirtAddr page) { return spaces_.writable(tenant, page); },
                     .truth = &truth_};
  for (u32 i = 0; i < slices_.size(); ++i) {
    WayToMemory& way = ways_to_memory_[i];
    Fbt::SlicePort port{way.to_translator.get(), {}, fbt_wires_.commands[i].get(), tlb_wires_.replies[i].get()};
    for (const auto& link : way.requests) port.channels.push_back(link.get());
    wiring.slices.push_back(std::move(port));
  }
  for (u32 i = 0; i < fbt_wires_.from_tlb.size(); ++i) {
    wiring.mmus.push_back({fbt_wires_.from_tlb[i].get(), mmu_wires_[i].requests.get(), fbt_wires_.to_tlb[i].get()});
  }
  for (const auto& link : fbt_wires_.invalidations) wiring.sms.push_back(link.get());
  fbt_ = std::make_unique<Fbt>(scheduler_, config_.fbt, std::move(wiring));
  fbt_unit_ = scheduler_.add(*fbt_, "fbt");
  fbt_->connect(fbt_unit_);
  for (u32 i = 0; i < slices_.size(); ++i) {
    ways_to_memory_[i].to_translator->connect(slice_units_[i], fbt_unit_);
    fbt_wires_.commands[i]->connect(fbt_unit_, slice_units_[i]);
    fbt_wires_.replays[i]->connect_consumer(slice_units_[i]);
    for (u32 from = 0; from < slices_.size(); ++from) fbt_wires_.replays[i]->connect_producer(from, slice_units_[from]);
    tlb_port_units_.push_back(fbt_unit_);
    tlb_wires_.requests->connect_producer(i, fbt_unit_);
  }
  for (u32 i = 0; i < config_.sm.count; ++i) {
    fbt_wires_.invalidations[i]->connect(fbt_unit_, sm_units_[i]);
    fbt_wires_.acknowledgements->connect_producer(i, sm_units_[i]);
  }
  fbt_wires_.acknowledgements->connect_consumer(fbt_unit_);
#ifdef TERRACE_DCHECK
  // They look into other units: on several threads those may be ticking.
  if (scheduler_.threads() == 1) {
    truth_.is_tracked = [this](LineKey line) { return fbt_->tracks(line); };
    truth_.is_in_l1s = [this](u64 page) {
      return std::ranges::any_of(sms_, [page](const auto& sm) { return sm->load_store().holds_page(page); });
    };
  }
#endif
}

std::unique_ptr<WalkMemory> Gpu::walk_memory(u32 mmu, WalkPath::Way way) {
  if (!config_.walks_use(way)) return nullptr;
  if (way == WalkPath::Way::kL2) {
    return std::make_unique<WalkThroughL2>(*requests_, *replies_, accesses_, map_, config_.noc, truth_,
                                           config_.sm.count + mmu, config_.line_bytes);
  }
  std::vector<WalkToDram::Channel> ways;
  for (const auto& channel : channels_) {
    walk_to_dram_.push_back(make_link<DramRequest>(cycles_to_dram()));
    walk_from_dram_.push_back(make_link<DramReply>(config_.dram.link_cycles));
    ways.push_back({walk_to_dram_.back().get(), walk_from_dram_.back().get()});
    channel->connect(*ways.back().requests, *ways.back().replies);
  }
  return std::make_unique<WalkToDram>(std::move(ways), map_, truth_, config_.lines());
}

void Gpu::connect_translation() {
  if (!tlb_wires_.requests) return;
  const u32 tenants = static_cast<u32>(tenants_.size()), inputs = inputs_of_mmu();
  L2Tlb::Wiring tlb_wiring{
      .requests = *tlb_wires_.requests,
      .replies_per_port = config_.translates_in_sm() ? config_.l1_tlb.miss_entries : config_.l2.miss_entries,
      .tlbs = config_.l2_tlb.per_tenant ? tenants : 1,
      .tenants = tenants,
      .sms = config_.sm.count,
      .warps = config_.sm.warps,
      .seed = config_.run.seed,
      .merged_warps = tlb_wires_.merged_warps.get(),
      .mistake = &truth_.mistake,
      .locate = [this](u64 key) {
        return spaces_.locate(tenant_of_key(key), VirtAddr{page_of_key(key) << spaces_.page_shift()});
      }};
  for (const auto& reply : tlb_wires_.replies) tlb_wiring.replies.push_back(reply.get());
  const bool through_fbt = !fbt_wires_.from_tlb.empty();
  for (u32 i = 0; i < mmu_wires_.size(); ++i) {
    tlb_wiring.mmus.push_back({through_fbt ? fbt_wires_.from_tlb[i].get() : mmu_wires_[i].requests.get(),
                               mmu_wires_[i].replies[0].get(), inputs,
                               through_fbt ? fbt_wires_.to_tlb[i].get() : nullptr});
  }
  tlb_ = std::make_unique<L2Tlb>(config_.l2_tlb, std::move(tlb_wiring));
  const UnitId tlb_unit = scheduler_.add(*tlb_, "l2_tlb.0");
  tlb_wires_.requests->connect_consumer(tlb_unit);
  if (tlb_wires_.merged_warps) tlb_wires_.merged_warps->connect_consumer(tlb_unit);
  for (u32 port = 0; port < tlb_ports(); ++port) tlb_wires_.replies[port]->connect(tlb_unit, tlb_port_units_[port]);
  for (u32 i = 0; i < mmu_wires_.size(); ++i) {
    mmus_.push_back(
        std::make_unique<Mmu>(config_.mmu, config_.lines(), tenants, config_.run.seed,
                              Mmu::Wiring{*mmu_wires_[i].requests,
                                          *mmu_wires_[i].replies[0],
                                          config_.l2_tlb.miss_entries,
                                          spaces_,
                                          {walk_memory(i, WalkPath::Way::kL2), walk_memory(i, WalkPath::Way::kMemory)},
                                          &truth_.mistake}));
    const UnitId unit = scheduler_.add(*mmus_[i], fmt::format("mmu.{}", i));
    mmu_units_.push_back(unit);
    mmu_wires_[i].requests->connect_consumer(unit);
    for (u32 input = 0; input < inputs; ++input) {
      mmu_wires_[i].requests->connect_producer(input, through_fbt ? fbt_unit_ : tlb_unit);
      if (through_fbt) fbt_wires_.from_tlb[i]->connect_producer(input, tlb_unit);
    }
    if (through_fbt) {
      fbt_wires_.from_tlb[i]->connect_consumer(fbt_unit_);
      fbt_wires_.to_tlb[i]->connect(fbt_unit_, tlb_unit);
    }
    mmu_wires_[i].replies[0]->connect(unit, tlb_unit);
    if (config_.walks_use(WalkPath::Way::kL2)) {
      requests_->connect_input(config_.sm.count + i, unit);
      replies_->connect_output(config_.sm.count + i, unit);
    }
    if (config_.walks_use(WalkPath::Way::kMemory)) {
      for (u32 channel = 0; channel < channels_.size(); ++channel) {
        const size_t way = i * channels_.size() + channel;
        walk_to_dram_[way]->connect(unit, channel_units_[channel]);
        walk_from_dram_[way]->connect(channel_units_[channel], unit);
      }
    }
  }
}

/// Assigns each unit to a thread, if there are several. SMs go to the threads in turn, because neighbouring SMs mostly
/// belong to one tenant and are equally busy. A channel and its slices stay together. The dispatcher and the MMUs go to the
/// last thread.
void Gpu::place_units() {
  const u32 slices = config_.l2.slices, channels = config_.dram.channels, last = scheduler_.threads() - 1;
  scheduler_.place(dispatcher_unit_, last);
  for (u32 i = 0; i < sm_units_.size(); ++i) scheduler_.place(sm_units_[i], i);
  for (u32 i = 0; i < channels; ++i) scheduler_.place(channel_units_[i], i);
  for (u32 i = 0; i < slices; ++i) scheduler_.place(slice_units_[i], slices >= channels ? i / (slices / channels) : i);
  for (const UnitId mmu : mmu_units_) scheduler_.place(mmu, last);
}

}  // namespace terrace
