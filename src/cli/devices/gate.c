/*
 * The client side of KEP-5677's feature gate.
 */
#include "cli/devices/gate.h"

#include "api/schema/gates.h"
#include "cli/roles/role.h"

int device_gate_read(struct cli *cli, const struct flag_list *list, bool *ret_hidden,
		     struct error *err)
{
	struct gates gates;
	int r = role_gates(cli, list, &gates, err);

	if (r == 0)
		*ret_hidden = !gates_on(&gates, GATE_DRAResourceAvailabilityVisibility);
	return r;
}

int device_gate_need(struct cli *cli, const struct flag_list *list, struct error *err)
{
	bool hidden = false;
	int r = device_gate_read(cli, list, &hidden, err);

	if (r == 0 && hidden)
		r = error_set(err, ERR_FORBIDDEN,
			      "the gate DRAResourceAvailabilityVisibility is off: availability of "
			      "devices is hidden");
	return r;
}
