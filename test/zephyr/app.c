/* Zephyr's part of an application: it is started, it prints, it asks for the time. */
#include <stdarg.h>

#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "port/port.h"
#include "port/print.h"

int main(void);

int nuc_firmware_main(void)
{
    return main();
}

uint32_t k_cycle_get_32(void)
{
    return nuc_port_instructions();
}

/* %s and %u. */
void printk(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    for (; *format != '\0'; format++) {
        const char one[2] = {*format, '\0'};
        if (format[0] == '%' && format[1] == 's')
            nuc_port_print(va_arg(arguments, const char *));
        else if (format[0] == '%' && format[1] == 'u')
            nuc_print_line("", va_arg(arguments, unsigned int), "");
        else
            nuc_port_print(one);
        format += format[0] == '%';
    }
    va_end(arguments);
}
