#!/usr/bin/env bash
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
# What: the C headers compile without a warning as C99, C11, C17 and C++, and declare what programs expect
# Budget: 60

. Scripts/lib.sh

# C1: the headers are of our own, for every language and compiler; types and values are compared with the list below.
need gcc
need g++
headers=Sources/CDispatch/include
folder=$OUT/headers-c
mkdir -p "$folder"

# Some of everything that a header alone can get wrong: macros, inline functions, conversions to the common type.
cat >"$folder/use.c" <<'EOF'
#include <dispatch/dispatch.h>
#include <dispatch/introspection.h>

static void work(void *context) { (void)context; }

int main(void) {
  static dispatch_once_t once;
  dispatch_queue_t queue = dispatch_queue_create("use", DISPATCH_QUEUE_CONCURRENT_INACTIVE);
  dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, DISPATCH_TIMER_STRICT, queue);
  dispatch_once_f(&once, NULL, work);
  dispatch_async_f(queue, NULL, work);
  dispatch_async_f(dispatch_get_main_queue(), NULL, work);
  dispatch_set_context(source, NULL);
  dispatch_release(dispatch_data_empty);
  dispatch_assert_queue_not_debug(queue);
#if DISPATCH_BLOCKS
  dispatch_once(&once, ^{
  });
  dispatch_async(queue, ^{
    dispatch_suspend(queue);
  });
  dispatch_release(dispatch_data_create("", 0, queue, DISPATCH_DATA_DESTRUCTOR_FREE));
#endif
  dispatch_release(source);
  dispatch_release(queue);
  return 0;
}
EOF
cp "$folder/use.c" "$folder/use.cpp"

# What programs find in libdispatch's header, and include from nowhere else.
cat >"$folder/brought.c" <<'EOF'
#include <dispatch/dispatch.h>
int main(void) { return MIN(INT_MAX, 1) + (signal(SIGPIPE, SIG_IGN) == SIG_ERR) + fcntl(STDIN_FILENO, F_GETFD) + (int)strlen("") + (int)getpid(); }
EOF
cp "$folder/brought.c" "$folder/brought.cpp"

# A program that has one of the header's numbers already gets the others, and keeps its own.
cat >"$folder/numbers.c" <<'EOF'
#define NSEC_PER_SEC 1000000000L
#include <dispatch/dispatch.h>
int check[sizeof NSEC_PER_SEC == sizeof(long) && NSEC_PER_MSEC == 1000000 && USEC_PER_SEC == 1000000 && NSEC_PER_USEC == 1000 ? 1 : -1];
EOF
cp "$folder/numbers.c" "$folder/numbers.cpp"

# Names that programs write their own declarations with.
cat >"$folder/annotated.c" <<'EOF'
#include <dispatch/dispatch.h>

OS_ENUM(way, unsigned long, WAY_FIRST = 1, WAY_SECOND DISPATCH_ENUM_API_AVAILABLE(macos(10.9)) = 2);
OS_OBJECT_DECL_CLASS(thing);

DISPATCH_EXTERN DISPATCH_NONNULL_ALL DISPATCH_RETURNS_RETAINED dispatch_queue_t make(const char *label);
DISPATCH_EXTERN DISPATCH_NONNULL1 DISPATCH_NONNULL2 DISPATCH_COLD DISPATCH_NOT_TAIL_CALLED void take(thing_t thing, void *context);
DISPATCH_EXTERN DISPATCH_SENTINEL void list(const char *first, ...) DISPATCH_ALIAS_V2(list);
DISPATCH_EXTERN DISPATCH_LINUX_UNAVAILABLE() void leave_out(void);
API_AVAILABLE(macos(10.9)) OS_EXPORT DISPATCH_FREEBSD_UNAVAILABLE() DISPATCH_SWIFT_UNAVAILABLE("use the other") DISPATCH_EXTERN int other(void);

DISPATCH_INLINE DISPATCH_ALWAYS_INLINE DISPATCH_CONST int count(way_t way) {
  int ways = 0;
  DISPATCH_COMPILER_CAN_ASSUME(way != 0);
  switch (way) {
    case WAY_SECOND: ways++; DISPATCH_FALLTHROUGH;
    case WAY_FIRST: ways++; DISPATCH_FALLTHROUGH;
    default: return os_likely(ways) ? ways : 0;
  }
}

#if DISPATCH_BLOCKS
OS_UNUSED static intptr_t finish(dispatch_block_t block, dispatch_group_t group, dispatch_source_t source, dispatch_queue_t queue) {
  dispatch_notify(block, queue, block);
  dispatch_notify(group, queue, block);
  dispatch_cancel(block);
  dispatch_cancel(source);
  return dispatch_wait(block, DISPATCH_TIME_NOW) + dispatch_wait(group, DISPATCH_TIME_NOW) + dispatch_testcancel(block) +
         dispatch_testcancel(source);
}
#endif

int main(void) {
  OS_UNUSED int unused = 0;
  dispatch_source_timer_flags_t timer = DISPATCH_TIMER_STRICT;
  dispatch_source_vnode_flags_t vnode = DISPATCH_VNODE_WRITE;
  dispatch_compiler_barrier();
  return count(WAY_FIRST) + (int)(timer + vnode) + (int)sizeof OS_STRINGIFY(OS_CONCAT(a, b));
}
EOF
cp "$folder/annotated.c" "$folder/annotated.cpp"

modes=0
# compile COMPILER-AND-MODE FILE
compile() {
  local command
  read -ra command <<<"$1"
  "${command[@]}" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$headers" "$folder/$2" || fail "$1"
  modes=$((modes + 1))
}

for blocks in '' ' -fblocks'; do
  for standard in c99 c11 c17 gnu17; do compile "clang -std=$standard$blocks" use.c; done
  for standard in c++11 c++17 c++20; do compile "clang++ -std=$standard$blocks" use.cpp; done
done
for standard in c99 c11 c17; do compile "gcc -std=$standard" use.c; done
for standard in c++11 c++17; do compile "g++ -std=$standard" use.cpp; done

for program in brought annotated numbers; do
  compile "clang -std=gnu17" "$program.c"
  compile "gcc -std=gnu17" "$program.c"
  compile "clang++ -std=c++17" "$program.cpp"
  compile "g++ -std=c++17" "$program.cpp"
done
compile "clang -std=gnu17 -fblocks" annotated.c
compile "clang++ -std=c++17 -fblocks" annotated.cpp

# Each header by itself.
count=0
for header in "$headers"/dispatch/*.h "$headers"/os/*.h; do
  printf '#include <%s>\nextern int alone;\n' "${header#"$headers"/}" >"$folder/alone.c"
  clang -std=c99 -fblocks -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$headers" "$folder/alone.c" ||
    fail "$header alone"
  count=$((count + 1))
done
fact "$modes modes, $count headers"

Scripts/c_interface.py types "$headers"
# planted CHECK FILE SCRIPT FOUND [HOW]: a header that sed has changed is found by that check, and grep (-F, or HOW) finds what it says.
planted() {
  rm -rf "$folder/planted"
  cp -r "$headers" "$folder/planted"
  sed -i "$3" "$folder/planted/dispatch/$2"
  if Scripts/c_interface.py "$1" "$folder/planted" >"$folder/planted.log" 2>&1; then fail "a fault of $1 was planted in $2, and not found"; fi
  grep "${5:--F}" "$4" "$folder/planted.log" >/dev/null || fail "not found: $4"$'\n'"$(<"$folder/planted.log")"
}
planted types queue.h 's/dispatch_get_global_queue(intptr_t/dispatch_get_global_queue(int/' dispatch_get_global_queue:
planted types pool.h 's/pool, size_t index/pool, int index/' dispatch_queue_pool_get_statistics:
planted types YYDispatchQueuePool.h 's/Utility = 0x11/Utility = 0x12/' NSQualityOfServiceUtility:
planted types pool.h 's/_get_queue_count(/_count(/' dispatch_queue_pool_get_queue_count
planted types pool.h '/_get_queue_count(/a void dispatch_queue_pool_frobnicate(void);' 'in no list of Scripts/parity: dispatch_queue_pool_frobnicate'

theirs=$(toolchain)
Scripts/c_interface.py values "$headers" "$theirs"
Scripts/c_interface.py names "$headers" "$theirs"

# Each function has a comment of three strokes, which editors show. Planted: one without.
Scripts/c_interface.py comments "$headers"
planted comments group.h '/^DISPATCH_EXPORT.* dispatch_group_enter(/i extern int planted;' 'without a comment: dispatch_group_enter' -Fx
