#include "host/characters.h"

#include "host/text.h"

uint32_t nuc_character(const char *text, size_t *bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t n = 0; n < sizeof forms / sizeof forms[0]; n++) {
        if ((p[0] & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t c = p[0] & (unsigned char)~forms[n].mask;
        size_t i = 1;
        while (i <= n && (p[i] & 0xc0) == 0x80)
            c = c << 6 | (p[i++] & 0x3f);
        *bytes = i > n && c >= forms[n].least && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n + 1 : 0;
        return c;
    }
    *bytes = 0;
    return 0;
}

bool nuc_is_control(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},      {0xad, 0xad},     {0x61c, 0x61c},
                                         {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
                                         {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    }
    return false;
}

bool nuc_is_plain(const char *text)
{
    size_t bytes;

    for (;; text += bytes) {
        while (*text >= ' ' && *text < 0x7f) /* what names are made of */
            text++;
        if (*text == '\0')
            return true;
        uint32_t c = nuc_character(text, &bytes);
        if (bytes == 0 || nuc_is_control(c))
            return false;
    }
}

const char *nuc_plain_text(struct nuc_context *cx, const char *text)
{
    struct nuc_text out = {.cx = cx};
    size_t bytes;

    if (nuc_is_plain(text))
        return text;
    for (; *text != '\0'; text += bytes == 0 ? 1 : bytes) {
        uint32_t c = nuc_character(text, &bytes);
        if (bytes < 2 && (bytes == 0 || nuc_is_control(c)))
            nuc_text_addf(&out, "\\x%02x", (unsigned char)*text);
        else if (nuc_is_control(c))
            nuc_text_addf(&out, "\\u%04x", (unsigned)c);
        else
            nuc_text_add(&out, text, bytes);
    }
    return nuc_text_string(&out);
}
