// The runs of a store as pages show them: what each is, in words, and what is shown of it. Every number is the store's.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/store.h"
#include "text/tree.h"

namespace terrace {

class StoredRuns {
 public:
  explicit StoredRuns(Store& store);

  /// What lists of runs show: a table for each job.
  Tree list() const;
  const std::vector<std::string>& ids() const { return ids_; }
  /// Everything that the page of a run shows.
  Tree page(const std::string& id);
  /// The points of a sweep: their labels, their run and their metrics.
  Tree points(const std::string& sweep);

 private:
  /// Where sweeps ask for a job.
  struct Use {
    std::string sweep;
    Point point;
    bool alone = false;  // as the reference of one tenant
  };
  void add_list_entry(const Statement& job);
  Tree tenants(u64 number, const Use* use);
  Tree kernels(u64 number);
  Tree spans(u64 number);
  Tree decisions(u64 number);
  void add_stats(u64 number, u32 tenants, Tree& page);
  Tree over_time(u64 number);

  Store& store_;
  std::vector<std::string> ids_;
  std::map<std::string, Tree> entries_;
  std::map<std::string, std::vector<Use>> uses_;
  std::map<u64, std::string> shown_;  // statistics by their numbers: what they are called when units are added up
  std::map<u64, std::string> blame_;  // the cells of waiting matrices
};

}  // namespace terrace
