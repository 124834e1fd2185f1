/* Completion for bash, of the tables of options and commands. */

#include "tools/cli/arguments/command_args.h"
#include "tools/cli/arguments/manual.h"

static const char before[] =
    "# _nucleon_files SUFFIX...: the files with these suffixes, and folders.\n"
    "_nucleon_files()\n"
    "{\n"
    "    local suffix\n"
    "\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    for suffix; do\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X \"!*$suffix\" -- \"$cur\")\n"
    "    done\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "}\n"
    "\n"
    "_nucleon_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_nucleon()\n"
    "{\n"
    "    local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} commands valued flags again most=0 arguments=0 left= word i\n"
    "    local -a suffixes=()\n"
    "\n"
    "    COMPREPLY=()\n";

/* After `commands` is known. bash makes three words of --name=value. */
static const char middle[] = "    if ((COMP_CWORD == 1)); then\n"
                             "        _nucleon_words \"$commands help --help --version\"\n"
                             "        return\n"
                             "    fi\n"
                             "    if [[ $command == help ]]; then\n"
                             "        ((COMP_CWORD > 2)) || _nucleon_words \"$commands\"\n"
                             "        return\n"
                             "    fi\n"
                             "    if [[ $cur == = ]]; then\n"
                             "        cur=\n"
                             "    elif [[ $option == = ]] && ((COMP_CWORD > 3)); then\n"
                             "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
                             "    fi\n"
                             "    case $command in\n";

/* What is left to give: arguments, and options that were not given. */
static const char after[] =
    "    *)\n"
    "        [[ \" $valued \" != *\" $option \"* ]] || return\n"
    "        ;;\n"
    "    esac\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ \" $valued \" == *\" $word \"* ]]; then\n"
    "            [[ ${COMP_WORDS[++i]} != = ]] || ((i++))\n"
    "        elif [[ $word != -* ]]; then\n"
    "            ((arguments++))\n"
    "        fi\n"
    "    done\n"
    "    if [[ $cur != -* ]] && ((arguments < most)); then\n"
    "        _nucleon_files \"${suffixes[@]}\"\n"
    "        return\n"
    "    fi\n"
    "    for word in $flags $valued; do\n"
    "        [[ \" ${COMP_WORDS[*]:2:COMP_CWORD-2} \" == *\" $word \"* && \" $again \" != *\" $word \"* ]] ||\n"
    "            left+=\" $word\"\n"
    "    done\n"
    "    _nucleon_words \"$left\"\n"
    "}\n"
    "\n"
    "complete -F _nucleon nucleon\n";

static void print_suffixes(const struct cli_files *files)
{
    if (files->any)
        cli_put(" ''");
    for (size_t i = 0; i < files->n_suffixes; i++)
        cli_printf(" .%s", files->suffixes[i]);
}

enum which { VALUED, FLAGS, LISTS };

/* The names of a command's options, with a value or without, or those that may be repeated. */
static void print_names(const struct cli_command *command, const char *variable, enum which which)
{
    cli_printf("        %s='", variable);
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *o = &cli_options[i];
        bool is_flag = o->argument == NULL;
        if (!cli_has_option(command, o) || (which == LISTS ? o->kind != NUC_OPTION_LIST : (which == FLAGS) != is_flag))
            continue;
        cli_printf(" %s", o->name);
        if (o->alias != NULL)
            cli_printf(" %s", o->alias);
    }
    cli_put(" '\n");
}

/* What may follow an option, where something is known of it. */
static void print_value(const struct cli_commands *all, const struct cli_option *o)
{
    struct cli_files files;
    const char *choice = o->argument != NULL ? cli_choice_at(o, 0) : NULL;
    bool is_file = o->argument != NULL && cli_files_of(o->argument, &files);

    if (choice == NULL && !is_file)
        return;
    /* "compile,--output | compile,-o)". */
    const char *between = "    ";
    for (size_t i = 0; i < all->count; i++) {
        if (!cli_has_option(&all->rows[i], o))
            continue;
        cli_printf("%s%s,%s", between, all->rows[i].name, o->name);
        if (o->alias != NULL)
            cli_printf(" | %s,%s", all->rows[i].name, o->alias);
        between = " | ";
    }
    cli_put(")\n");
    if (choice != NULL) {
        cli_put("        _nucleon_words '");
        for (size_t i = 0; (choice = cli_choice_at(o, i)) != NULL; i++)
            cli_printf(" %s", choice);
        cli_put(" '\n");
    } else {
        cli_put("        _nucleon_files");
        print_suffixes(&files);
        cli_put("\n");
    }
    cli_put("        return\n        ;;\n");
}

void cli_print_bash(const struct cli_commands *all)
{
    cli_printf("# Completion for bash of nucleon %s, made of the tables of its help.\n\n", nuc_version());
    cli_put(before);
    cli_put("    commands='");
    for (size_t i = 0; i < all->count; i++)
        cli_printf(" %s", all->rows[i].name);
    cli_put(" '\n");
    cli_put(middle);
    for (size_t i = 0; i < all->count; i++) {
        const struct cli_command *command = &all->rows[i];
        struct cli_files files;
        cli_printf("    %s)\n", command->name);
        if (cli_argument_files(command, &files)) {
            cli_printf("        most=%zu\n        suffixes=(", command->max_arguments);
            print_suffixes(&files);
            cli_put(" )\n");
        }
        print_names(command, "valued", VALUED);
        print_names(command, "flags", FLAGS);
        print_names(command, "again", LISTS);
        cli_put("        ;;\n");
    }
    cli_put("    *)\n        return\n        ;;\n    esac\n    case $command,$option in\n");
    for (size_t i = 0; i < cli_n_options; i++) {
        if (cli_options[i].name != NULL)
            print_value(all, &cli_options[i]);
    }
    cli_put(after);
}
