# shellcheck shell=sh
# How far a long step is, for scripts that source this: on a terminal one line on standard error that is written again
# and gone at the end, nothing in a pipe. The step's output is read from standard input, a line at a time.
#   COMMAND | progress WHAT SED-SCRIPT
# where the script makes "DONE TOTAL" or "DONE TOTAL WHAT" of the lines that say how far it is; a total of 100 is percents.

if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then progress_shown=1; else progress_shown=; fi

# 85 -> "1 min 25 s"
progress_time() {
    if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# progress_line WHAT DONE TOTAL SECONDS
progress_line() {
    bar=$(printf '%*s' "$(($2 * 20 / $3))" '' | tr ' ' '#')
    count=
    rest=
    [ "$3" -eq 100 ] || count="$2/$3 "
    if [ "$2" -gt 0 ] && [ "$4" -gt 0 ]; then
        rate=$(($2 * 10 / $4))
        [ "$3" -eq 100 ] || rest="  $((rate / 10)).$((rate % 10))/s"
        rest="$rest  $(progress_time $((($3 - $2) * $4 / $2))) left"
    fi
    printf '\r%-18s [%-20s] %s%3d %%%s\033[K' "$1" "$bar" "$count" "$(($2 * 100 / $3))" "$rest" >&2
}

progress() {
    if [ -z "$progress_shown" ]; then
        cat >/dev/null
        return
    fi
    step=
    before=
    sed -un "$2" | while read -r count total what; do
        now=$(date +%s)
        [ "$step" = "${what:-$1}" ] || began=$now
        step=${what:-$1}
        if [ "$total" -eq 0 ] || [ "$now" = "$before" ]; then continue; fi
        before=$now
        progress_line "$step" "$count" "$total" "$((now - began))"
    done
    printf '\r\033[K' >&2
}
