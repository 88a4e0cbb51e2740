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

compile "clang -std=gnu17" brought.c
compile "gcc -std=gnu17" brought.c
compile "clang++ -std=c++17" brought.cpp
compile "g++ -std=c++17" brought.cpp

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
theirs=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")/lib/swift
Scripts/c_interface.py values "$headers" "$theirs"
