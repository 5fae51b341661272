/*
 * Plugins that are refused, each for a reason of its own; built once for each.
 */
#include <devplane/scheduler.h>

#if defined(REFUSED_ABI)
#define PLUGIN                                                           \
	{                                                                \
		.size = sizeof(plugin), .abi_major = 99, .name = "Other" \
	}
#elif defined(REFUSED_SIZE)
#define PLUGIN                                                                   \
	{                                                                        \
		.size = 20, .abi_major = DP_SCHEDULER_ABI_MAJOR, .name = "Short" \
	}
#elif defined(REFUSED_NAME)
#define PLUGIN                                                                                 \
	{                                                                                      \
		.size = sizeof(plugin), .abi_major = DP_SCHEDULER_ABI_MAJOR, .name = "no good" \
	}
#elif defined(REFUSED_TAKEN)
#define PLUGIN                                                                                  \
	{                                                                                       \
		.size = sizeof(plugin), .abi_major = DP_SCHEDULER_ABI_MAJOR, .name = "NodeName" \
	}
#endif

#ifdef PLUGIN
static const struct dp_scheduler_plugin plugin = PLUGIN;
#define ANSWER &plugin
#else
#define ANSWER NULL
#endif

#ifndef REFUSED_ENTRY
const struct dp_scheduler_plugin *dp_scheduler_plugin_entry(void)
{
	return ANSWER;
}
#else
int nothing_of_that_kind(void);
int nothing_of_that_kind(void)
{
	return 0;
}
#endif
