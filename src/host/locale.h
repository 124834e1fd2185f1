/*
 * Numbers are read and written as in C whatever locale the process has: a public call begins with the locale "C" for
 * its thread and ends with the one that was there. Nothing is allocated, nothing fails. A locale is a locale_t.
 */
#ifndef NUC_HOST_LOCALE_H
#define NUC_HOST_LOCALE_H

/* The locale that the thread had, for nuc_leave_locale(). */
void *nuc_enter_locale(void);
void nuc_leave_locale(void *outer);

/* From one to another within a call: that of the caller while a callback runs. NULL: it stays. */
void *nuc_change_locale(void *locale);

#endif
