/*
 * Addresses of network interfaces (networkData, KEP-4817). If an address is valid but not
 * canonical, the error shows its canonical text, as upstream does.
 */
#include "api/devices/checks.h"
#include "api/schema/address.h"

/* As in the table for networkData.ips. */
enum { NETWORK_ADDRESSES_MAX = 16 };

static void check_address(struct validation *v, struct str text, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT(128);

	if (!address_canonical(text, &canonical)) {
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or "
				     "2001:db8::1/64)");
		return;
	}
	if (!str_eq(text, buf_str(&canonical)))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "must be in canonical form (\"%s\")", canonical.p);
}

void check_interface_addresses(struct validation *v, const struct json *addresses,
			       const struct field_path *path)
{
	size_t i = 0;

	/* The table reports too many addresses; upstream then checks none of them. */
	if (json_count(addresses) > NETWORK_ADDRESSES_MAX)
		return;
	JSON_FOREACH (address, addresses) {
		struct field_path at = field_path_index(path, i++);

		check_address(v, json_str(address), &at);
	}
}
