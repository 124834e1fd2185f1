#!/bin/sh
# stack_bound.sh BUILD: upper bounds of the stack that the runtime's and the driver's functions take, from gcc's call
# graphs (-fcallgraph-info=su) below BUILD. Fails on recursion, and on a frame whose size is not known.
#
# A call through a pointer counts as one of the largest function it may reach: targets() below. What is not in the
# graphs (memcpy, floating-point helpers of the compiler's library, callbacks of the application) counts as 64 bytes.
# Assembly states its own: lines " * stack FUNCTION BYTES" of the sources.
set -eu
[ $# -eq 1 ] && [ -d "$1" ] || { echo "usage: stack_bound.sh BUILD" >&2; exit 2; }
graphs=$(find "$1/src" -name '*.ci' | sort)
[ -n "$graphs" ] || { echo "stack_bound.sh: $1 has no call graphs: build with -fcallgraph-info=su" >&2; exit 2; }
sources=$(find "$(dirname "$0")/../src" -name '*.S')
# shellcheck disable=SC2086
cat $graphs $sources | awk '
    function field(name,    at, rest) {
        at = index($0, name ": \"")
        if (at == 0) return ""
        rest = substr($0, at + length(name) + 3)
        return substr(rest, 1, index(rest, "\"") - 1)
    }
    /^graph: / { file = field("title") }
    /^node: / {
        name = field("title"); label = field("label")
        if (match(label, /[0-9]+ bytes \([a-z,]+\)/)) {
            words = substr(label, RSTART, RLENGTH)
            frame[name] = words + 0; file_of[name] = file
            if (words ~ /dynamic\)/ && words !~ /bounded/) { print "FAIL frame of unknown size: " name; bad = 1 }
        }
    }
    /^ \* stack [a-z_0-9]+ [0-9]+$/ { frame[$3] = $4; called[$3] = 1 }
    /^edge: / {
        from = field("sourcename"); to = field("targetname")
        calls[from] = calls[from] SUBSEP to
        if (to != from) called[to] = 1
    }
    # Which functions a call through a pointer in that file may reach: a pattern of their files, one of their names.
    function targets(file) {
        if (file ~ /program_load\.c$/) return "neutron_delegate\\.c$" SUBSEP ":(sizes|argument_bytes|load|unload)"
        if (file ~ /program_run\.c$/) return "(ops_[a-z_0-9]*|neutron_delegate)\\.c$" SUBSEP "^nuc_op_|delegate\\.c:run"
        if (file ~ /npu_run\.c$/) return "npu_[a-z]*\\.c$" SUBSEP "npu_"
        if (file ~ /npu_fetch\.c$/) return "" # callbacks of the application
        if (file ~ /src\/device\/npusim\//) return file "$" SUBSEP ":"
        return "(src/device/kernels/.*|ops_[a-z_0-9]*\\.c)$" SUBSEP ":|^nuc_map_"
    }
    function candidates(file,    name, list, parts) {
        if (file in listed) return listed[file]
        if (split(targets(file), parts, SUBSEP) == 2)
            for (name in frame)
                if (!(name in called) && name !~ /^neutron/ && file_of[name] ~ parts[1] && name ~ parts[2])
                    list = list SUBSEP name
        return listed[file] = list
    }
    function depth(name,    list, parts, n, i, d, most) {
        if (name in known) return known[name]
        if (!(name in frame)) return 64
        if (name in active) { print "FAIL recursion through " name; bad = 1; return 0 }
        active[name] = 1
        list = calls[name]
        if (list ~ /__indirect_call/) list = list candidates(file_of[name])
        n = split(list, parts, SUBSEP)
        for (i = 1; i <= n; i++) {
            if (parts[i] == "" || parts[i] == "__indirect_call") continue
            d = depth(parts[i])
            if (d > most) { most = d; next_of[name] = parts[i] }
        }
        delete active[name]
        return known[name] = frame[name] + most
    }
    END {
        split("nuc_program_sizes nuc_program_load nuc_program_set_input nuc_program_execute nuc_program_decision " \
              "nuc_program_decide nuc_slots_load nuc_update_finish neutronModelPrepare neutronRunBlocking", roots, " ")
        for (i = 1; i in roots; i++) {
            if (!(roots[i] in frame)) { print "FAIL " roots[i] " is not in the graphs"; bad = 1; continue }
            printf "%-24s %5d bytes of stack\n", roots[i], depth(roots[i])
        }
        exit bad
    }'
