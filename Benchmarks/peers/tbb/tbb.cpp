//===- tbb.cpp - oneTBB ---------------------------------------------------===//
//
// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "peer.h"

#include <atomic>
#include <cstdlib>
#include <functional>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <vector>

namespace {

constexpr int team = 2;

// MARK: - A: a serial node of a flow graph

using Item = std::function<void()>;

struct SerialNode {
  tbb::flow::graph graph;
  tbb::flow::function_node<Item> node{graph, tbb::flow::serial, [](const Item &item) { item(); }};
};

void serial(uint64_t n, meter *m) {
  SerialNode queue;
  meter_start(m);
  for (uint64_t i = 0; i < n; i++) queue.node.try_put([] {});
  queue.graph.wait_for_all();
  meter_stop(m);
}

void capturing(uint64_t n, meter *m) {
  SerialNode queue;
  meter_start(m);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t next = i + 1;
    queue.node.try_put([=] { bench_consume(i + next + n); });
  }
  queue.graph.wait_for_all();
  meter_stop(m);
}

struct Producers {
  std::vector<SerialNode> queues;
  uint64_t per_thread;
};

void produce(int index, void *context) {
  auto *producers = static_cast<Producers *>(context);
  auto &queues = producers->queues;
  auto &queue = queues[static_cast<size_t>(index) % queues.size()];
  for (uint64_t i = 0; i < producers->per_thread; i++) queue.node.try_put([] {});
}

void two_producers(uint64_t n, meter *m, size_t queues) {
  Producers producers{std::vector<SerialNode>(queues), n / 2};
  crew_run(2, 0, m, produce, &producers);
  for (auto &queue : producers.queues) queue.graph.wait_for_all();
  meter_stop(m);
}

void two_producers_one_queue(uint64_t n, meter *m) { two_producers(n, m, 1); }
void two_producers_two_queues(uint64_t n, meter *m) { two_producers(n, m, 2); }

// MARK: - C, M: the locks that keep the order of arrival

struct Contest {
  tbb::queuing_mutex mutex;
  tbb::queuing_rw_mutex lock;
  uint64_t count = 0, per_thread = 0, inside = 0, outside = 0;
  bool writes = false;
};

void contend(int, void *context) {
  auto *contest = static_cast<Contest *>(context);
  for (uint64_t i = 0; i < contest->per_thread; i++) {
    {
      tbb::queuing_mutex::scoped_lock hold(contest->mutex);
      contest->count += 1;
      if (contest->inside > 0) peer_spin(contest->inside);
    }
    if (contest->outside > 0) peer_spin(contest->outside);
  }
}

void contended(uint64_t n, meter *m, uint64_t inside, uint64_t outside) {
  Contest contest;
  contest.per_thread = n / 2;
  contest.inside = inside;
  contest.outside = outside;
  crew_run(2, 1, m, contend, &contest);
  if (contest.count != n / 2 * 2) std::abort();
}

void contended_2(uint64_t n, meter *m) { contended(n, m, 0, 0); }
void contended_2_in(uint64_t n, meter *m) { contended(n, m, 1000, 0); }
void contended_2_in_out(uint64_t n, meter *m) { contended(n, m, 1000, 1000); }

void read_and_write(int, void *context) {
  auto *contest = static_cast<Contest *>(context);
  for (uint64_t i = 0; i < contest->per_thread; i++) {
    bool writes = contest->writes && i % 20 == 0;
    tbb::queuing_rw_mutex::scoped_lock hold(contest->lock, writes);
    if (writes) {
      contest->count += 1;
    } else {
      bench_consume(contest->count);
    }
  }
}

void mixed(uint64_t n, meter *m, bool writes) {
  Contest contest;
  contest.per_thread = n / 2;
  contest.writes = writes;
  crew_run(2, 1, m, read_and_write, &contest);
}

void mixed_2(uint64_t n, meter *m) { mixed(n, m, true); }
void readers_2(uint64_t n, meter *m) { mixed(n, m, false); }

// MARK: - D: tasks

void tasks(uint64_t n, uint64_t work) {
  std::atomic<uint64_t> left{n};
  tbb::task_group group;
  for (uint64_t i = 0; i < n; i++) {
    group.run([&left, work] {
      if (work > 0) peer_spin(work);
      left.fetch_sub(1, std::memory_order_acq_rel);
    });
  }
  group.wait();
  if (left.load() != 0) std::abort();
}

void global_1p(uint64_t n, meter *) { tasks(n, 0); }
void bodies(uint64_t n, meter *) { tasks(n, 1000); }

struct Tree {
  tbb::task_group group;

  void grow(int depth) {
    if (depth == 0) return;
    group.run([this, depth] { grow(depth - 1); });
    group.run([this, depth] { grow(depth - 1); });
  }
};

void fork_tree(uint64_t n, meter *) {
  Tree tree;
  tree.grow(__builtin_ctzll(n) - 1);
  tree.group.wait();
}

// MARK: - G: parallel loops

void loop(uint64_t iterations) {
  tbb::parallel_for(uint64_t{0}, iterations, [](uint64_t i) { bench_consume(i); });
}

void loop_1us(uint64_t iterations) {
  tbb::parallel_for(uint64_t{0}, iterations, [](uint64_t) { peer_spin(1000); });
}

void one_loop(uint64_t n, meter *) { loop(n); }
void one_loop_1us(uint64_t n, meter *) { loop_1us(n); }

void imbalanced(uint64_t n, meter *) {
  tbb::parallel_for(uint64_t{0}, n, [](uint64_t i) { peer_spin(i * 200); });
}

void empty_2(uint64_t n, meter *) {
  for (uint64_t i = 0; i < n; i++) loop(2);
}

void empty_64(uint64_t n, meter *) {
  for (uint64_t i = 0; i < n; i++) loop(64);
}

void loop_16(uint64_t n, meter *) {
  for (uint64_t i = 0; i < n; i++) loop_1us(16);
}

}  // namespace

int main(int argc, char **argv) {
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, team);
  const operation operations[] = {
      {"A.serial-async-1p", "TBB function_node", 200000, serial},
      {"A.2p-1-queue", "TBB function_node", 200000, two_producers_one_queue},
      {"A.2p-2-queues", "TBB function_node", 200000, two_producers_two_queues},
      {"A.capture-3-words", "TBB function_node", 200000, capturing},
      {"C.2-threads", "TBB queuing_mutex", 200000, contended_2},
      {"C.2-threads-1us-in", "TBB queuing_mutex", 20000, contended_2_in},
      {"C.2-threads-1us-in-1us-out", "TBB queuing_mutex", 20000, contended_2_in_out},
      {"D.global-1p", "TBB task_group", 200000, global_1p},
      {"D.fork-tree", "TBB task_group", 1 << 17, fork_tree},
      {"D.global-1us-bodies", "TBB task_group", 40000, bodies},
      {"G.1e6-x-1ns", "TBB parallel_for", 1000000, one_loop},
      {"G.1e4-x-1us", "TBB parallel_for", 10000, one_loop_1us},
      {"G.imbalanced", "TBB parallel_for", 1000, imbalanced},
      {"G.2-empty", "TBB parallel_for", 50000, empty_2},
      {"G.64-empty", "TBB parallel_for", 20000, empty_64},
      {"G.16-x-1us", "TBB parallel_for", 4000, loop_16},
      {"M.95-5-2-threads", "TBB queuing_rw_mutex", 200000, mixed_2},
      {"M.readers-2-threads", "TBB queuing_rw_mutex", 200000, readers_2},
      {nullptr, nullptr, 0, nullptr},
  };
  return peer_main(argc, argv, operations);
}
