# complete.zsh FOLDER OUT <LINES: what zsh offers at the end of each line, written to OUT as "LINE<tab>WORD"; FOLDER
# holds _nucleon. It types the lines and a tab into a shell of its own, whose compadd writes down what it is given.
zmodload zsh/zpty || exit 2
folder=$1 out=$2
: >$out
zpty shell "PS1= TERM=dumb zsh -f -i"
wait_for() {
    for i in {1..400}; do
        [[ -e $1 ]] && break
        sleep 0.02
    done
    rm -f $1
}
send() {
    zpty -w shell "$1; : >$out.done"
    wait_for $out.done
}
send "fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -D; unsetopt beep"
send "compadd() { local -a found; builtin compadd -A found \"\$@\"; print -rl -- \$found >>$out.words; builtin compadd \"\$@\" }"
send "zstyle ':completion:*' menu no"
send "done_() { : >$out.done; zle kill-whole-line }; zle -N done_; bindkey '^G' done_; bindkey '^I' complete-word"
while IFS= read -r line; do
    : >$out.words
    zpty -n -w shell "$line"$'\t'$'\x07'
    wait_for $out.done
    while IFS= read -r word; do
        [[ -z $word ]] || print -r -- "$line"$'\t'"$word" >>$out
    done < <(sort -u $out.words)
done
zpty -d shell
