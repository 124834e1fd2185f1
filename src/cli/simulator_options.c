#include "cli/simulator_options.h"

#include "nucleon/simulator.h"

struct cli_option cli_simulator_option(struct cli_simulator_flags *flags)
{
    static const char *const names[] = {"best", "plain", "avx2", "avx512vnni", "neondot", NULL};

    return (struct cli_option){"--simulator",
                               NULL,
                               CLI_CHOICE,
                               &flags->path,
                               "PATH",
                               "instructions of the simulator: best (default), plain, avx2, avx512vnni, neondot; the "
                               "results are the same",
                               names};
}

int cli_simulator_apply(const struct cli_simulator_flags *flags, struct cli_program *p)
{
    const struct nuc_simulator_options o = {(enum nuc_simulator_path)flags->path, flags->threads};

    if (!nuc_simulator_has_path(o.path))
        return cli_usage("--simulator %s: this machine does not have it", nuc_simulator_path_name(o.path));
    if (o.threads > NUC_SIMULATOR_MAX_THREADS)
        return cli_usage("--threads %u: at most %d", o.threads, NUC_SIMULATOR_MAX_THREADS);
    for (size_t i = 0;; i++) {
        NeutronModelHandle handle = nuc_program_device(&p->program, i);
        if (handle == NULL)
            return CLI_OK;
        if (nuc_simulator_configure(handle, &o) != ENONE)
            return cli_report(NUC_NO_MEMORY, NULL);
    }
}
