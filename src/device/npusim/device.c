/*
 * The device's own state. There is one device, as there is one NPU in a chip, and the public API configures it through
 * functions without a handle: this is why the library has a variable.
 */
#include "npu.h"

static struct nuc_npu_device the_device;

struct nuc_npu_device *nuc_npu_device(void)
{
    return &the_device;
}

void nuc_simulator_inject(const struct nuc_simulator_fault *fault)
{
    the_device.faulty = fault != NULL;
    if (fault)
        the_device.fault = *fault;
}

void nuc_simulator_watch(void (*watcher)(void *user, const void *handle, uint32_t call, uint32_t sum), void *user)
{
    the_device.watcher = watcher;
    the_device.watcher_user = user;
}

void nuc_simulator_power(struct nuc_simulator_power *out)
{
    *out = the_device.power;
}

bool nuc_npu_fails(enum nuc_simulator_fault_kind kind)
{
    if (!the_device.faulty || the_device.fault.kind != kind)
        return false;
    if (the_device.fault.after > 0) {
        the_device.fault.after--;
        return false;
    }
    the_device.faulty = false;
    return true;
}
