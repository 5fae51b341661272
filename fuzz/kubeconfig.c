/*
 * Any text as a kubeconfig. An accepted one names a server; a rejected one has an error message.
 * Files that it names lie in a folder that does not exist.
 */
#include "client/kubeconfig/kubeconfig.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kubeconfig k;
	struct error err;

	if (kubeconfig_parse(&k, str_of(data, size), "config", "/nowhere", NULL, &err) == 0) {
		require(k.server.n && k.cluster.n && k.ns.n);
		require(!k.cert.n == !k.key.n);
		kubeconfig_release(&k);
	} else {
		require(err.code != ERR_OK && err.msg[0]);
	}
	return 0;
}
