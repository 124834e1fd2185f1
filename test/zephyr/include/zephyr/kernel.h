#include <stddef.h>
#include <stdint.h>

uint32_t k_cycle_get_32(void);
#define k_cyc_to_us_floor32(cycles) ((cycles) / 16)
