/*
 * Networks of one operator %r for tests of support rules, and text cases of them (text_cases.h). A network is a graph
 * in the shorthand of quantized_text.h, or, of quantized operands %dx, %dy, weight %dw and bias %db, one line:
 *
 *   CALL of [SIZES] and [SIZES] with [SIZES] and [SIZES] to SCALE, ZERO
 *
 * where all but "of" may be missing. In a text file "WORDS: " may stand in front, what they say is up to the test.
 */
#ifndef NUC_TEST_SUPPORT_NETS_H
#define NUC_TEST_SUPPORT_NETS_H

#include "quantized_text.h"
#include "text_cases.h"

#include "npu/support/support.h"

static inline struct nuc_graph *parse_net(struct nuc_context *cx, const char *net)
{
    char *call = nuc_strdup(cx, net), *to = split_at(call, " to "), *weight = split_at(call, " with "),
         *x = split_at(call, " of "), *y = x != NULL ? split_at(x, " and ") : NULL,
         *bias = weight != NULL ? split_at(weight, " and ") : NULL;
    struct nuc_text text = {.cx = cx};

    if (x == NULL)
        return parse_quantized(cx, net);
    if (weight != NULL)
        nuc_text_addf(&text, "%%w = buffer : int8%s ! 0.5, 0, -127, 127, int8\n", weight);
    if (bias != NULL)
        nuc_text_addf(&text, "%%b = buffer : int32%s ! 0.5, 0, -127, 127, int32\n", bias);
    nuc_text_addf(&text, "%%x = input : float32%s !\n", x);
    if (y != NULL)
        nuc_text_addf(&text, "%%y = input : float32%s !\n", y);
    nuc_text_addf(&text, "%%r = edge.%s ! %s\n", call, to != NULL ? to : "");
    return parse_quantized(cx, nuc_text_string(&text));
}

/* Of a line of a text case; the words in front of it go to `words`. */
static inline struct nuc_graph *line_net(struct nuc_context *cx, const struct text_line *line, const char **words)
{
    char *left = nuc_strdup(cx, line->left), *net = split_at(left, ":");

    assert_non_null(line->right);
    *words = net != NULL ? left : "";
    net = net != NULL ? net + (*net == ' ') : left;
    return parse_net(cx, *net != '\0' ? net : line->graph);
}

/* A part of the rule that fails; NULL: the network is supported. */
static inline const char *line_rule(const struct text_line *line)
{
    return line->refused ? line->right : NULL;
}

/* What checks the lines of a case; a list ends without a name. */
struct net_check {
    const char *name;
    void (*check)(struct nuc_context *cx, struct text_line *line);
};

static inline void check_nets(struct nuc_context *cx, void *arg)
{
    struct text_case *c = arg;
    const struct net_check *k = c->user;

    while (k->name != NULL && strcmp(k->name, c->name) != 0)
        k++;
    assert_non_null(k->name);
    for_lines(cx, c, k->check, NULL);
}

/* The verdict about %r: `rule` is a part of the one that fails, NULL where it is supported. */
static inline struct nuc_verdict check_verdict(const struct nuc_support *s, const char *rule)
{
    struct nuc_verdict v = nuc_check_support(s, node_of(s->g, "r"));

    if (v.ok != (rule == NULL) || (rule != NULL && strstr(v.rule, rule) == NULL))
        fail_msg("'%s' instead of '%s' (%s, limit %s) in:\n%s", v.ok ? "supported" : v.rule,
                 rule == NULL ? "supported" : rule, v.actual, v.limit, nuc_graph_print(s->g, false));
    return v;
}

static inline struct nuc_support support_of(struct nuc_graph *g, const char *flavor)
{
    return (struct nuc_support){
        .g = g, .target = nuc_target_find(g->cx, NULL), .flavor = nuc_flavor_find(g->cx, flavor)};
}

#endif
