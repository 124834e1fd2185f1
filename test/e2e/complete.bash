# complete.bash FOLDER OUT <LINES: what bash offers at the end of each line, written to OUT as "LINE<tab>WORD"; FOLDER
# holds nucleon, whose function is called with the words as readline cuts them.
folder=$1 out=$2
: >"$out"
# shellcheck disable=SC1091
source "$folder/nucleon" || exit 2
function=$(complete -p nucleon | sed -n 's/.*-F \([^ ]*\) .*/\1/p')
while IFS= read -r line; do
    spaced=${line//=/ = }
    read -ra COMP_WORDS <<<"$spaced"
    [[ $spaced != *" " || $line == *= ]] || COMP_WORDS+=("")
    # shellcheck disable=SC2034
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
    COMPREPLY=()
    "$function" nucleon "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}" | sort -u | while IFS= read -r word; do
        [[ -z $word ]] || printf '%s\t%s\n' "$line" "$word" >>"$out"
    done
done
