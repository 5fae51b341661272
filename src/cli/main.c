/*
 * The program's entry: makes the process fit to run, hands over to the table
 * of commands.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/program/cli.h"

/*
 * A closed standard stream would lend its number to the first file or socket
 * opened, and messages would be written into that. The null device takes the
 * place, opened the wrong way round, so that using the stream is still an error.
 */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	struct cli cli;

	hold_standard_streams();
	/* A peer or a pipe that goes away is an error of the write, not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	cli_init(&cli, stdout, stderr);
	return cli_main(&cli, &commands_root, argc, argv);
}
