#!/usr/bin/env python3
# Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
"""Compares the C headers with the interface that programs expect.

    c_interface.py types HEADERS      every declaration of Scripts/parity has the same type here, and every function here is in its lists
    c_interface.py comments HEADERS   every function has a comment that documents it
    c_interface.py values A B         constants and sizes are the same in two header folders
    c_interface.py names A B          the headers in folder A have the macros and the types of those in B
    c_interface.py exports LIBRARY    a library exports every name that it should
"""

import json
import os
import re
import subprocess
import sys
import tempfile

PARITY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "parity")
HEADERS = ("dispatch/dispatch.h", "dispatch/introspection.h", "dispatch/YYDispatchQueuePool.h")
CLANG = ["clang", "-std=gnu17", "-fblocks", "-Wno-nullability-completeness", "-Wno-deprecated-declarations"]

VALUES = """
DISPATCH_API_VERSION DISPATCH_TIME_NOW DISPATCH_TIME_FOREVER NSEC_PER_SEC NSEC_PER_MSEC USEC_PER_SEC NSEC_PER_USEC
DISPATCH_QUEUE_PRIORITY_HIGH DISPATCH_QUEUE_PRIORITY_DEFAULT DISPATCH_QUEUE_PRIORITY_LOW
DISPATCH_QUEUE_PRIORITY_BACKGROUND DISPATCH_AUTORELEASE_FREQUENCY_INHERIT DISPATCH_AUTORELEASE_FREQUENCY_WORK_ITEM
DISPATCH_AUTORELEASE_FREQUENCY_NEVER DISPATCH_BLOCK_BARRIER DISPATCH_BLOCK_DETACHED DISPATCH_BLOCK_ASSIGN_CURRENT
DISPATCH_BLOCK_NO_QOS_CLASS DISPATCH_BLOCK_INHERIT_QOS_CLASS DISPATCH_BLOCK_ENFORCE_QOS_CLASS DISPATCH_IO_STREAM
DISPATCH_IO_RANDOM DISPATCH_IO_STOP DISPATCH_IO_STRICT_INTERVAL DISPATCH_TIMER_STRICT DISPATCH_MACH_SEND_DEAD
DISPATCH_MEMORYPRESSURE_NORMAL DISPATCH_MEMORYPRESSURE_WARN DISPATCH_MEMORYPRESSURE_CRITICAL DISPATCH_PROC_EXIT
DISPATCH_PROC_FORK DISPATCH_PROC_EXEC DISPATCH_PROC_SIGNAL DISPATCH_VNODE_DELETE DISPATCH_VNODE_WRITE
DISPATCH_VNODE_EXTEND DISPATCH_VNODE_ATTRIB DISPATCH_VNODE_LINK DISPATCH_VNODE_RENAME DISPATCH_VNODE_REVOKE
DISPATCH_VNODE_FUNLOCK DISPATCH_ONCE_INLINE_FASTPATH
""".split()

TYPES = """
dispatch_object_t dispatch_queue_t dispatch_queue_attr_t dispatch_queue_main_t dispatch_queue_global_t
dispatch_queue_serial_t dispatch_queue_concurrent_t dispatch_group_t dispatch_semaphore_t dispatch_source_t
dispatch_source_type_t dispatch_data_t dispatch_io_t dispatch_block_t dispatch_function_t dispatch_once_t
dispatch_time_t dispatch_qos_class_t dispatch_queue_priority_t dispatch_autorelease_frequency_t dispatch_block_flags_t
dispatch_io_type_t dispatch_io_close_flags_t dispatch_io_interval_flags_t dispatch_fd_t dispatch_io_handler_t
dispatch_data_applier_t dispatch_source_mach_send_flags_t dispatch_source_memorypressure_flags_t
dispatch_source_proc_flags_t dispatch_source_vnode_flags_t dispatch_source_timer_flags_t
""".split()

# What the toolchain's headers declare themselves with, and leave defined.
DECLARING = """
DISPATCH_APPLY_QUEUE_ARG_NULLABILITY DISPATCH_DATA_DECL DISPATCH_DATA_DESTRUCTOR_TYPE_DECL DISPATCH_SOURCE_DECL
DISPATCH_SOURCE_TYPE_DECL
""".split()


def rows(name):
    with open(os.path.join(PARITY, name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def compile_text(text, headers, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(text)
        source.flush()
        subprocess.run([*CLANG, "-I", headers, source.name, *arguments], check=True)


def functions(headers):
    """The functions that the headers declare, each with whether a comment documents one of its declarations."""
    command = [*CLANG, "-I", headers, "-fsyntax-only", "-Xclang", "-ast-dump=json", "-x", "c", "-"]
    said = subprocess.run(command, input="".join(f"#include <{header}>\n" for header in HEADERS), check=True, capture_output=True, text=True)
    found = {}
    for node in json.loads(said.stdout)["inner"]:
        # No other header has such names.
        if node["kind"] == "FunctionDecl" and re.match(r"_?dispatch_|_?os_|YY", node["name"]):
            documented = any(part["kind"] == "FullComment" for part in node.get("inner", []))
            found[node["name"]] = found.get(node["name"], False) or documented
    return found


def check_comments(headers):
    found = functions(headers)
    without = sorted(name for name, documented in found.items() if not documented)
    print(f"=> {len(found)} functions, {len(without)} without a comment")
    if without or not found:
        sys.exit("without a comment: " + " ".join(without))


def check_types(headers):
    lines = [f"#include <{header}>" for header in HEADERS] + ["#define DISPATCH_RETURNS_RETAINED_BLOCK"]
    count = 0
    recorded = rows("c-api-linux.tsv") + rows("c-api-ours.tsv")
    for name, kind, declared, availability in recorded:
        # The four that exist on no Linux are macros that pick a function by the type of their argument.
        if kind == "function" and availability == "unavailable":
            continue
        # What the list's own compiler made of these.
        declared = declared.replace("struct __va_list_tag *", "va_list").replace(" __attribute__((noreturn))", "")
        lines.append(f"#undef {name}")
        count += 1
        if kind == "value":
            lines.append(f'_Static_assert({name} == {declared}, "{name}: {declared}");')
            continue
        if kind == "function" or "struct" not in declared:
            same = f"__builtin_types_compatible_p(__typeof__({name}), {declared})"
        else:
            # Nobody outside knows the structure.
            same = f"__builtin_types_compatible_p(__typeof__(&{name}), {declared} *)"
        lines.append(f'_Static_assert({same}, "{name}: {declared}");')
    compile_text("\n".join(lines) + "\n", headers, "-fsyntax-only")
    print(f"=> {count} declarations")
    unrecorded = sorted(functions(headers).keys() - {row[0] for row in recorded})
    if unrecorded:
        sys.exit("in no list of Scripts/parity: " + " ".join(unrecorded))


def values(headers):
    lines = ["#include <dispatch/dispatch.h>", "#include <stdio.h>", "int main(void) {"]
    lines += [f'printf("{name} %lld\\n", (long long){name});' for name in VALUES]
    lines += [
        f'printf("{name} %zu %zu %d\\n", sizeof({name}), _Alignof({name}), __builtin_classify_type(({name} *)0));'
        for name in TYPES
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "values")
        compile_text("\n".join(lines) + "return 0; }\n", headers, "-o", program)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def check_values(ours, theirs):
    differences = [(a, b) for a, b in zip(values(ours), values(theirs)) if a != b]
    for a, b in differences:
        print(f"{a}, expected {b}")
    if differences:
        sys.exit(1)
    print(f"=> {len(VALUES)} constants, {len(TYPES)} types")


def names(headers):
    def preprocessed(*arguments):
        command = [*CLANG, "-I", headers, "-E", *arguments, "-x", "c", "-"]
        text = "#include <dispatch/dispatch.h>\n"
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

    macros = re.findall(r"^#define ((?:DISPATCH|OS|API|dispatch|os)_\w+)", preprocessed("-dM"), re.MULTILINE)
    types = re.findall(r"\bdispatch_\w+_t\b", preprocessed("-P"))
    return set(macros), set(types)


def check_names(ours, theirs):
    count = 0
    missing = []
    for here, there in zip(names(ours), names(theirs)):
        count += len(there)
        missing += sorted(there - here - set(DECLARING))
    print(f"=> {count} macros and types")
    if missing:
        sys.exit("not declared: " + " ".join(missing))


def check_exports(library):
    listing = subprocess.run([os.environ.get("NM", "nm"), "-D", "--defined-only", "--extern-only", library], check=True, capture_output=True, text=True).stdout
    defined = {line.split()[-1] for line in listing.splitlines()}
    declared = {row[0] for row in rows("c-api-linux.tsv") if row[3] == "available"}
    # Defined in the headers themselves.
    declared -= {"dispatch_get_main_queue", "_dispatch_once", "_dispatch_once_f"}
    declared |= {row[0] for row in rows("c-api-ours.tsv") if row[3] == "exported"}
    expected = {row[1] for row in rows("c-exports-linux.tsv")}
    missing = sorted((expected | declared) - defined)
    print(f"=> {len(expected & defined)} of {len(expected)} names exported")
    if missing:
        sys.exit("not exported: " + " ".join(missing))


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "types":
        check_types(arguments[1])
    elif len(arguments) == 2 and arguments[0] == "comments":
        check_comments(arguments[1])
    elif len(arguments) == 3 and arguments[0] == "values":
        check_values(arguments[1], arguments[2])
    elif len(arguments) == 3 and arguments[0] == "names":
        check_names(arguments[1], arguments[2])
    elif len(arguments) == 2 and arguments[0] == "exports":
        check_exports(arguments[1])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
