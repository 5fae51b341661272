/* The names follow from the kernel's limit on the length of a socket's path. */
#include "drivers/prepare/socket_path.h"

#include "base/core/limits.h"
#include "base/text/base64.h"
#include "net/tls/pki_sign.h"

enum { UID_HASH = 8, DRIVER_UID_HASH = 16 }; /* bytes of SHA-256, as upstream */

static int socket_path_check(const struct buf *path, struct error *err)
{
	if (path->n <= SOCKET_PATH_MAX)
		return 0;
	return error_set(err, ERR_INVALID,
			 "the socket's path %s has %zu bytes, but the kernel allows %d: choose a "
			 "shorter root folder",
			 path->p, path->n, SOCKET_PATH_MAX);
}

static void add_hash(struct buf *to, struct str of, size_t n)
{
	uint8_t hash[PKI_SHA256_SIZE];

	pki_sha256(of, hash);
	(void)base64_encode(to, str_of(hash, n), BASE64_URL_RAW);
}

static void add_form(struct buf *to, int form, const char *driver, const char *instance)
{
	CLEANUP(buf_release) struct buf both = BUF_INIT(4 * KIB);

	if (form == 0) {
		(void)buf_printf(to, "%s-%s", driver, instance);
	} else if (form == 1) {
		(void)buf_printf(to, "%s-", driver);
		add_hash(to, str_from(instance), UID_HASH);
	} else {
		(void)buf_add(&both, driver, strlen(driver) + 1);
		(void)buf_addz(&both, instance);
		(void)buf_addz(to, "dra-");
		add_hash(to, buf_str(&both), DRIVER_UID_HASH);
	}
}

int socket_path_registry(const char *root, const char *driver, const char *instance,
			 struct buf *path, struct error *err)
{
	for (int form = 0; form < 3; form++) {
		buf_clear(path);
		(void)buf_printf(path, "%s/plugins_registry/", root);
		if (instance)
			add_form(path, form, driver, instance);
		else
			(void)buf_addz(path, driver);
		(void)buf_addz(path, "-reg.sock");
		if (path->n <= SOCKET_PATH_MAX)
			return 0;
	}
	return socket_path_check(path, err);
}

int socket_path_dra(const char *root, const char *driver, const char *instance, struct buf *path,
		    struct error *err)
{
	(void)buf_printf(path, "%s/plugins/%s/dra%s%s.sock", root, driver, instance ? "-" : "",
			 instance ? instance : "");
	return socket_path_check(path, err);
}

int socket_path_plugin(const char *root, const char *name, struct buf *path, struct error *err)
{
	(void)buf_printf(path, "%s/device-plugins/%s.sock", root, name);
	return socket_path_check(path, err);
}

int socket_path_addr(struct str path, struct addr *ret_addr, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	(void)buf_printf(&text, "unix:%.*s", STR_ARG(path));
	return addr_parse(ret_addr, buf_str(&text), 0, err);
}
