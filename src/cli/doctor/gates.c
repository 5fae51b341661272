/* Upstream prints the label `name` first, as we do: the exposition format sorts labels. */
#include "cli/doctor/gates.h"

#include <stddef.h>

static const struct str metric = { "kubernetes_feature_enabled{name=\"", 33 };

/* The next line about a gate: its name, and the value. */
static bool next_gate(struct str *metrics, struct str *ret_name, struct str *ret_value)
{
	struct str line;
	ptrdiff_t end;

	while (str_split(metrics, '\n', &line)) {
		if (!str_starts(line, metric))
			continue;
		line = str_skip(line, metric.n);
		end = str_find(line, STR("\""));
		if (end < 0)
			continue;
		*ret_name = str_of(line.p, (size_t)end);
		end = str_find(line, STR("} "));
		if (end < 0)
			continue;
		*ret_value = str_trim_space(str_skip(line, (size_t)end + 2));
		return true;
	}
	return false;
}

bool doctor_gates_are_in(struct str metrics)
{
	struct str name, value;

	return next_gate(&metrics, &name, &value);
}

bool doctor_gate_is_off(struct str metrics, const char *gate)
{
	struct str name, value;

	while (next_gate(&metrics, &name, &value))
		if (str_eqz(name, gate))
			return str_eqz(value, "0");
	return false;
}
