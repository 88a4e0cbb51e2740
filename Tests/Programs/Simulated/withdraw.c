// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Two tellers take 80 from an account of 100. Each looks before it takes, in two items of the account's queue: both may have looked
// before one takes. Repaired, it is one item.

#include <dispatch/dispatch.h>
#include <stdio.h>

static dispatch_queue_t account;
static int balance = 100;

#ifdef REPAIRED
static void look_and_take(void *context) {
  (void)context;
  if (balance >= 80) balance -= 80;
}
static void withdraw(void *context) { dispatch_sync_f(account, context, look_and_take); }
#else
static void look(void *context) { *(int *)context = balance; }
static void take(void *context) {
  (void)context;
  balance -= 80;
}
static void withdraw(void *context) {
  (void)context;
  int seen = 0;
  dispatch_sync_f(account, &seen, look);
  if (seen >= 80) dispatch_sync_f(account, NULL, take);
}
#endif

int main(void) {
  account = dispatch_queue_create("account", NULL);
  dispatch_group_t tellers = dispatch_group_create();
  dispatch_group_async_f(tellers, dispatch_queue_create("first teller", NULL), NULL, withdraw);
  dispatch_group_async_f(tellers, dispatch_queue_create("second teller", NULL), NULL, withdraw);
  dispatch_group_wait(tellers, DISPATCH_TIME_FOREVER);
  printf("the balance is %d\n", balance);
  return balance != 20;
}
