#include "host/locale.h"

#include <locale.h>

/* Where the locale cannot be had, the thread stays in its own. */
void *nuc_enter_locale(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* C libraries have one object for "C", and free nothing. */
void nuc_leave_locale(void *outer)
{
    locale_t inner = uselocale(outer);

    if (inner != outer && inner != LC_GLOBAL_LOCALE)
        freelocale(inner);
}

void *nuc_change_locale(void *locale)
{
    return uselocale(locale);
}
