/*
 * A package that a firmware takes only with a signature, verified by Mbed TLS: update_verify PUBLIC.pem FILE.npk. Exit
 * code 0: it is taken, 1: it is refused.
 */
#include <mbedtls/md.h>
#include <mbedtls/pk.h>
#include <nucleon/update.h>
#include <stdio.h>
#include <stdlib.h>

enum nuc_status verify(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature, size_t signature_size);

enum nuc_status verify(void *user, const uint8_t *bytes, size_t size, const uint8_t *signature, size_t signature_size)
{
    unsigned char sum[32];

    if (signature_size == 0 || mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes, size, sum) != 0)
        return NUC_BAD_INPUT;
    return mbedtls_pk_verify(user, MBEDTLS_MD_SHA256, sum, sizeof sum, signature, signature_size) == 0 ? NUC_OK
                                                                                                       : NUC_BAD_INPUT;
}

int main(int argc, char **argv)
{
    static _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t arena[1 << 20];
    const struct nuc_bank bank = {NULL, arena, sizeof arena};
    mbedtls_pk_context key;
    struct nuc_firmware firmware = {.kernels = &nuc_default_kernels,
                                    .backends = &nuc_default_backends,
                                    .banks = &bank,
                                    .n_banks = 1,
                                    .verify = verify,
                                    .user = &key};
    struct nuc_package package;
    struct nuc_detail detail = {.message = NULL};
    const size_t most = 1 << 24;
    uint8_t *bytes = aligned_alloc(NUC_MEMORY_ALIGNMENT, most);
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;

    mbedtls_pk_init(&key);
    if (bytes == NULL || file == NULL || mbedtls_pk_parse_public_keyfile(&key, argv[1]) != 0)
        return 2;
    size_t size = fread(bytes, 1, most, file);
    enum nuc_status status = nuc_package_check(bytes, size, &firmware, &package, &detail);
    if (status != NUC_OK)
        printf("refused: %s\n", detail.message != NULL ? detail.message : nuc_status_name(status));
    else
        printf("taken: version %u\n", (unsigned)package.version);
    return status == NUC_OK ? 0 : 1;
}
