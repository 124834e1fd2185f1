#include "model.h"

int nuc_firmware_start_model(struct nuc_detail *detail);

int nuc_firmware_start_model(struct nuc_detail *detail)
{
    (void)detail;
    return 0;
}
