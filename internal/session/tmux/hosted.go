package tmux

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"custos/internal/session"
	"custos/internal/sys/proc"
	"custos/internal/sys/procstat"
)

// hostedWait is how long an agent's own tmux server may take to answer.
const hostedWait = 2 * time.Second

// Hosted lists the panes of the tmux server that is the given process. It asks it
// on the socket that it listens at, and changes nothing there.
// One that listens nowhere is no server, and hosts nothing.
func Hosted(ctx context.Context, server int) ([]session.Hosted, error) {
	sockets, err := proc.ListensAt(server)
	if err == nil && len(sockets) == 0 {
		return nil, nil // it ends, or is a child of a server that is about to become a program
	}
	if err == nil && len(sockets) != 1 {
		err = fmt.Errorf("it listens at %d sockets", len(sockets))
	}
	if at, living := procstat.Living(server); err == nil && living {
		err = standing(at)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask tmux server %d: %w", server, err)
	}
	ctx, cancel := context.WithTimeout(ctx, hostedWait)
	defer cancel()
	sep := nonce()
	cmd := exec.CommandContext(ctx, "tmux", "-u", "-S", sockets[0], "-f", "/dev/null", "list-panes", "-a", "-F",
		format(sep, 'H', []string{"pid", "pane_pid", "session_id", "session_name", "session_path", "session_attached", "session_last_attached"}))
	cmd.Env, cmd.Dir, cmd.WaitDelay = environment(), "/", draining
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot ask tmux server %d: %w", server, err)
	}
	return parseHosted(string(out), sep, server)
}

func parseHosted(out, sep string, server int) (panes []session.Hosted, err error) {
	fields := strings.Split(out, sep)[1:]
	for ; len(fields) >= 9; fields = fields[9:] { // kind, seven fields, end
		pid, err := strconv.Atoi(fields[2])
		if err != nil || fields[1] != strconv.Itoa(server) {
			return nil, fmt.Errorf("cannot use what tmux server %d says: pane process %q of server %q", server, fields[2], fields[1])
		}
		panes = append(panes, session.Hosted{PID: pid, Session: fields[4], Folder: fields[5], First: fields[3] == "$0",
			Visited: fields[6] != "0" || strings.Trim(fields[7], "0") != ""})
	}
	if len(fields) > 0 {
		return nil, fmt.Errorf("cannot use what tmux server %d says: a record of %d fields", server, len(fields))
	}
	return panes, nil
}
