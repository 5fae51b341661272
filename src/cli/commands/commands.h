/*
 * commands - the rows of devplane's command table.
 *
 * Each command is defined in the file of its name. `commands_root` is the program itself, with all
 * others below it. Subcommands of `driver`, `probe` and `store` have their own headers.
 */
#ifndef CLI_COMMANDS_COMMANDS_H
#define CLI_COMMANDS_COMMANDS_H

#include "cli/program/command.h"

extern const struct command commands_root;

extern const struct command cmd_apply; /* commands/apply.c */
extern const struct command cmd_cni; /* commands/cni.c */
extern const struct command cmd_cel; /* commands/cel.c */
extern const struct command cmd_codec; /* commands/codec.c */
extern const struct command cmd_completion; /* commands/completion.c */
extern const struct command cmd_confine; /* commands/confine.c */
extern const struct command cmd_controller; /* commands/controller.c */
extern const struct command cmd_delete; /* commands/delete.c */
extern const struct command cmd_demo; /* commands/demo.c */
extern const struct command cmd_describe; /* commands/describe.c */
extern const struct command cmd_diff; /* commands/diff.c */
extern const struct command cmd_doctor; /* commands/doctor.c */
extern const struct command cmd_down; /* commands/down.c */
extern const struct command cmd_reset; /* commands/reset.c */
extern const struct command cmd_driver; /* commands/driver.c */
extern const struct command cmd_explain_fit; /* commands/explain_fit.c */
extern const struct command cmd_get; /* commands/get.c */
extern const struct command cmd_help; /* commands/help.c */
extern const struct command cmd_history; /* commands/history.c */
extern const struct command cmd_logs; /* commands/logs.c */
extern const struct command cmd_man; /* commands/man.c */
extern const struct command cmd_node; /* commands/node.c */
extern const struct command cmd_page; /* commands/page.c */
extern const struct command cmd_podresources; /* commands/podresources.c */
extern const struct command cmd_podresources_watch; /* commands/podresources_watch.c */
extern const struct command cmd_probe; /* commands/probe.c */
extern const struct command cmd_scheduler; /* commands/scheduler.c */
extern const struct command cmd_server; /* commands/server.c */
extern const struct command cmd_status; /* commands/status.c */
extern const struct command cmd_store; /* commands/store.c */
extern const struct command cmd_top; /* commands/top.c */
extern const struct command cmd_ui; /* commands/ui.c */
extern const struct command cmd_up; /* commands/up.c */
extern const struct command cmd_version; /* commands/version.c */
extern const struct command cmd_watch; /* commands/watch.c */

struct completion_query;
/* Offers names that a server knows: commands/complete_names.c. */
void complete_names(struct cli *cli, const struct completion_query *query, struct buf *out);

#endif
