// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the C++ library waits for by calls of the kernel: futures, a static value that another thread makes, an atomic value, a latch, a
// semaphore; and what it waits for by the C library: once, and mutexes with time-outs. A future is waited for an hour.

#include <atomic>
#include <chrono>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;

struct Value {
  int number;
  Value() {
    std::this_thread::sleep_for(1ms);
    number = 7;
  }
};

static int shared_value() {
  static Value value;
  return value.number;
}

static std::once_flag once;
static int made;
static void make(bool throws) {
  std::call_once(once, [throws] {
    std::this_thread::sleep_for(1ms);
    if (throws) throw std::runtime_error("once more");
    made += 1;
  });
}

int main() {
  auto slow = std::async(std::launch::async, [] {
    std::this_thread::sleep_for(1h);
    return shared_value();
  });
  auto quick = std::async(std::launch::async, shared_value);
  if (slow.wait_for(1min) != std::future_status::timeout) return 2;
  if (slow.get() + quick.get() != 14) return 3;

  std::atomic<int> state{0};
  std::latch both(2);
  std::counting_semaphore<2> permits(0);
  std::thread waiter([&] {
    state.wait(0);
    both.count_down();
    permits.acquire();
  });
  std::thread waker([&] {
    std::this_thread::sleep_for(1s);
    state = 1;
    state.notify_all();
    both.count_down();
    permits.release();
  });
  both.wait();
  waiter.join();
  waker.join();
  if (permits.try_acquire_for(1s)) return 4;

  std::thread thrower([] {
    try {
      make(true);
    } catch (const std::runtime_error &) {
      make(false);
    }
  });
  make(false);
  thrower.join();
  if (made != 1) return 5;

  std::shared_timed_mutex mutex;
  mutex.lock();
  std::thread reader([&] {
    if (mutex.try_lock_shared_for(1s)) std::exit(6);
  });
  reader.join();
  mutex.unlock();
  std::cout << "all futures are there\n";
}
