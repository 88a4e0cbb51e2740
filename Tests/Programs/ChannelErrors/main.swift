// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Prints what channels tell their handlers when a file cannot be opened, read or written, a line for each case. The same
// source is compiled against the toolchain's library (-D TOOLCHAIN) and against ours; the lines must be equal. See
// Documentation/ChannelErrors.md.
//
//   channel-errors all    all cases: as root, if it runs as root, and as an ordinary user
//   channel-errors USER   all cases in this process, in the current folder; USER is root or user

import Glibc

#if TOOLCHAIN
  import Dispatch
#else
  import GrandCentral
#endif

if CommandLine.arguments.count == 2, CommandLine.arguments[1] != "all" {
  let user = CommandLine.arguments[1]
  Ground.limitDescriptors()
  if user == "user" { Ground.becomeOrdinary() }
  signal(SIGPIPE, SIG_IGN)
  for object in Object.all {
    Ground.tidy()
    print("| \(user) | \(object.name) | \(object.line()) |")
  }
} else {
  let ground = Ground()
  let users = getuid() == 0 ? ["root", "user"] : ["user"]
  let isFine = users.map { ground.run(as: $0) }.allSatisfy { $0 }
  ground.remove()
  exit(isFine ? 0 : 1)
}
