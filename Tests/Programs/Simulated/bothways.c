// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Two threads send each other as much as two pipes hold at once, and more, and read what the other one has sent behind that. Whether both
// pipes are full depends on how far each gets. Repaired, another thread of each side reads meanwhile.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 4096 * 3 };
static int there[2], back[2];

struct side {
  int in, out;
  long sum;
};

static void *read_all(void *context) {
  struct side *side = context;
  unsigned char bytes[1024];
  for (int left = SIZE; left > 0;) {
    ssize_t count = read(side->in, bytes, sizeof bytes);
    if (count <= 0) return NULL;
    left -= (int)count;
    for (int index = 0; index < count; index++) side->sum += bytes[index];
  }
  return NULL;
}

static void *talk(void *context) {
  struct side *side = context;
  char bytes[SIZE / 3];
  memset(bytes, 1, sizeof bytes);
#ifdef REPAIRED
  pthread_t reader;
  pthread_create(&reader, NULL, read_all, side);
#endif
  for (int round = 0; round < 3; round++) {
    if (write(side->out, bytes, sizeof bytes) != sizeof bytes) perror("write");
  }
#ifdef REPAIRED
  pthread_join(reader, NULL);
#else
  read_all(side);
#endif
  return NULL;
}

int main(void) {
  pthread_t other;
  if (pipe(there) != 0 || pipe(back) != 0) return 2;
  if (fcntl(there[1], F_SETPIPE_SZ, 4096) < 0 || fcntl(back[1], F_SETPIPE_SZ, SIZE - 4096) < 0) return 2;
  struct side left = {back[0], there[1], 0}, right = {there[0], back[1], 0};
  pthread_create(&other, NULL, talk, &right);
  talk(&left);
  pthread_join(other, NULL);
  return left.sum != SIZE || right.sum != SIZE;
}
