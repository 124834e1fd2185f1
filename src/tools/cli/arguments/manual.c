/* Manual pages of the same tables as --help: nucleon(1), and one page per command. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/arguments/command_args.h"
#include "tools/cli/arguments/manual.h"

/* ---- roff ---- */

/* Where the language of manual pages would read a character as an instruction, or print another one. */
static void put_character(char c)
{
    static const struct {
        char c;
        const char *text;
    } escapes[] = {{'-', "\\-"}, {'\\', "\\e"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};

    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].c == c) {
            cli_put(escapes[i].text);
            return;
        }
    }
    cli_printf("%c", c);
}

static void put_characters(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        put_character(text[i]);
}

/* In the middle of a line; `font` is B for what is typed as it stands, I for what stands for something. */
static void put_in(char font, const char *text)
{
    cli_printf("\\f%c", font);
    put_characters(text, strlen(text));
    cli_put("\\fR");
}

/* The bytes of "--name" or "-n" at the beginning of the text; 0: it is no option. */
static size_t option_length(const char *text)
{
    size_t dashes = strspn(text, "-"), length = dashes;

    if (dashes == 0 || dashes > 2 || !islower((unsigned char)text[dashes]))
        return 0;
    while (islower((unsigned char)text[length]) || isdigit((unsigned char)text[length]) || text[length] == '-')
        length++;
    return length;
}

/* A paragraph of words: options in bold. */
static void put_text(const char *text)
{
    bool begins_word = true;

    if (*text == '.')
        cli_put("\\&");
    while (*text != '\0') {
        size_t length = begins_word ? option_length(text) : 0;
        if (length > 0) {
            cli_put("\\fB");
            put_characters(text, length);
            cli_put("\\fR");
            text += length;
        } else {
            put_character(*text++);
        }
        begins_word = strchr(" (\n'", text[-1]) != NULL;
    }
    cli_put("\n");
}

static void put_heading(const char *text)
{
    cli_printf(".SH %s\n", text);
}

/* A heading below a heading: the words of the tables. */
static void put_subheading(const char *text)
{
    cli_put(".SS \"");
    put_characters(text, strlen(text));
    cli_put("\"\n");
}

/* ---- parts of pages ---- */

static void put_title(const char *name, const char *brief)
{
    cli_put(".TH ");
    for (const char *c = name; *c != '\0'; c++)
        put_character((char)toupper((unsigned char)*c));
    cli_printf(" 1 \"\" \"nucleon %s\" \"nucleon\"\n", nuc_version());
    put_heading("NAME");
    put_characters(name, strlen(name));
    cli_put(" \\- ");
    put_characters(brief, strlen(brief));
    cli_put("\n");
}

/* As struct cli_command has them: upper-case words stand for something, the others are typed. */
static void put_arguments(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " \n|[]");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (length > 0)
            put_in(isupper((unsigned char)word[0]) || strcmp(word, "options") == 0 ? 'I' : 'B', word);
        text += length;
        if (*text != '\0')
            cli_printf("%c", *text == '\n' ? ' ' : *text);
        text += *text != '\0';
    }
    cli_put("\n");
}

static void put_exit_codes(void)
{
    put_heading("EXIT STATUS");
    for (size_t i = 0; i < cli_n_exit_codes; i++) {
        cli_printf(".TP\n.B %d\n", cli_exit_codes[i].code);
        put_text(cli_exit_codes[i].meaning);
    }
}

static void put_option(const struct cli_option *o)
{
    cli_put(".TP\n");
    if (o->alias != NULL) {
        put_in('B', o->alias);
        cli_put(", ");
    }
    put_in('B', o->name);
    if (o->argument != NULL) {
        cli_put(" ");
        put_in('I', o->argument);
    }
    cli_put("\n");
    put_text(o->help);
    /* What may be given, where neither the argument's word nor the help says it. */
    const char *choice;
    bool all_said = true;
    for (size_t i = 0; (choice = cli_choice_at(o, i)) != NULL; i++)
        all_said &= strstr(o->help, choice) != NULL || strstr(o->argument, choice) != NULL;
    if (all_said)
        return;
    cli_put(".br\nOne of:\n");
    for (size_t i = 0; (choice = cli_choice_at(o, i)) != NULL; i++) {
        put_in('B', choice);
        cli_put(cli_choice_at(o, i + 1) != NULL ? ",\n" : ".\n");
    }
}

/* ---- pages ---- */

void cli_print_command_page(const struct cli_command *command)
{
    char name[64];

    snprintf(name, sizeof name, "nucleon-%s", command->name);
    put_title(name, command->brief);
    put_heading("SYNOPSIS");
    cli_put("\\fBnucleon ");
    put_characters(command->name, strlen(command->name));
    cli_put("\\fR ");
    put_arguments(command->arguments);
    put_heading("DESCRIPTION");
    put_text(command->summary);
    const char *heading = NULL;
    const struct cli_option *o;
    put_heading("OPTIONS");
    for (size_t i = 0; (o = cli_next_option(command, &i, &heading)) != NULL; heading = NULL) {
        if (heading != NULL)
            put_subheading(heading);
        put_option(o);
    }
    put_heading("EXAMPLES");
    /* Lines as they are. */
    cli_put(".EX\n");
    put_characters(command->examples, strlen(command->examples));
    cli_put("\n.EE\n");
    put_exit_codes();
    put_heading("SEE ALSO");
    cli_put(".BR nucleon (1)\n");
}

void cli_print_main_page(const struct cli_commands *all)
{
    put_title("nucleon", "compiles PyTorch models to programs for i.MX RT700 microcontrollers and runs them");
    put_heading("SYNOPSIS");
    cli_put("\\fBnucleon\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]\n.br\n\\fBnucleon help\\fR [\\fICOMMAND\\fR]\n");
    put_heading("DESCRIPTION");
    put_text("Compiles archives of torch.export (.pt2) and LiteRT models (.tflite) to ExecuTorch programs (.pte): "
             "quantized to int8, on the eIQ Neutron N3-64 NPU as far as it goes and on the Cortex-M33 beside it. Runs "
             "them with a bit-exact simulator of the NPU, says what they cost, and makes sources for a firmware.");
    put_heading("COMMANDS");
    for (size_t i = 0; i < all->count; i++) {
        if (all->rows[i].group != NULL)
            put_subheading(all->rows[i].group);
        cli_put(".TP\n.BR nucleon\\-");
        put_characters(all->rows[i].name, strlen(all->rows[i].name));
        cli_put(" (1)\n");
        put_text(all->rows[i].brief);
    }
    put_exit_codes();
    put_heading("ENVIRONMENT");
    cli_put(".TP\n.B NO_COLOR\n");
    put_text("when it is set and not empty, no colours, unless --color always is given");
    cli_put(".TP\n.B TERM\n");
    put_text("no colours and no line of progress when it is dumb");
    cli_put(".TP\n.B TMPDIR\n");
    put_text("where the models lie that a converter is given (default: /tmp)");
    put_heading("SEE ALSO");
    put_text("Each command has a page of its own: 'man nucleon-compile' is what 'nucleon help compile' prints.");
}
