#include "model.h"
#include "nucleon/NeutronDriver.h"

int nuc_firmware_start_model(struct nuc_detail *detail);

int nuc_firmware_start_model(struct nuc_detail *detail)
{
    return neutronInit() == ENONE && model_load(detail) == NUC_OK ? 0 : 1;
}
