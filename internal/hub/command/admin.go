package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/fleet"
	"custos/internal/hub/folder"
	"custos/internal/hub/protocol"
	"custos/internal/hub/wire"
)

// reach asks a service of the hub whose folder is at; into is one of the answers of protocol.
func (s Surroundings) reach(ctx context.Context, at func() (string, error), subject string, q, into any) (folder.Folder, error) {
	dir, err := at()
	if err != nil {
		return folder.Folder{}, err
	}
	node, err := folder.Find(dir)
	if errors.Is(err, os.ErrNotExist) {
		return folder.Folder{}, &api.Error{Kind: api.BadInput, Message: "there is no hub in " + dir, Hint: "custos hub init --dir DIR"}
	}
	var f folder.Folder
	if err == nil {
		f, err = folder.Read(node)
	}
	if err != nil {
		return f, &api.Error{Kind: api.BadInput, Message: err.Error()}
	}
	ended := s.Doing("asking the hub")
	defer ended()
	nc, err := wire.Once(f.URLs, f.CA, f.Admin, "")
	if err != nil {
		return f, notReached(fmt.Errorf("cannot reach the hub at %s: %w", strings.Join(f.URLs, ", "), err))
	}
	defer nc.Close()
	if err := wire.Ask(ctx, nc, subject, q, into); err != nil {
		return f, failure(err)
	}
	return f, nil
}

func (s Surroundings) inviteCommand(at func() (string, error)) *cobra.Command {
	var q protocol.Invite
	var lasts string
	c := &cobra.Command{
		Use:   "invite HOST",
		Short: "Make a token with which one host joins, once",
		Long: `invite prints a token for a host of a name. It is a secret until it is used: whoever has
it can join as that host, once. With --replace it takes the place of a host that has that
name, which is revoked then.`,
		Example: "  custos hub invite build-1\n  custos hub invite build-1 --for 10m\n  custos hub invite build-1 --replace",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if q.For, err = fleet.ParseDuration(lasts); err != nil {
				return api.AsBadInput(fmt.Errorf("cannot read --for: %w", err))
			}
			q.Host = args[0]
			return s.invite(c.Context(), at, q)
		},
	}
	c.Flags().StringVar(&lasts, "for", "1h", "`DURATION` for which the token is good, at most a week")
	c.Flags().BoolVar(&q.Replace, "replace", false, "also where a host has that name, which is revoked when the other joins")
	return c
}

func (s Surroundings) invite(ctx context.Context, at func() (string, error), q protocol.Invite) error {
	var a protocol.Invited
	if err := s.byPerson(ctx, "invite host "+q.Host); err != nil {
		return err
	}
	if _, err := s.reach(ctx, at, protocol.InviteSubject, q, &a); err != nil {
		return err
	}
	if a.Kind != "" {
		return refusal(a.Refused)
	}
	lines := []string{fmt.Sprintf(inviteBegins+"%s may join once, until %s, with this token:", q.Host, a.Expires.Local().Format("2006-01-02 15:04:05 MST")), a.Token}
	return s.Show(a, lines, []api.Hint{{Command: "custos join -", What: "on host " + q.Host + ", and give it the token"}})
}

func (s Surroundings) revokeCommand(at func() (string, error)) *cobra.Command {
	var q protocol.Revoke
	c := &cobra.Command{
		Use:   "revoke HOST",
		Short: "End the connections of a host, and keep it from coming back",
		Long: `revoke ends the connections of a host, and removes what it told. A node that is down
refuses it within seconds after it is back. The name is free then. A hub that lost its store
does not know its hosts any more, and their keys are good all the same: --key is the public
key of one, which custos-hub wrote to its log when the host joined. Where another host has
the name by now that one goes on.`,
		Example: "  custos hub revoke build-1\n  custos hub revoke build-1 --key U…",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			q.Host = args[0]
			return s.revoke(c.Context(), at, q)
		},
	}
	c.Flags().StringVar(&q.Key, "key", "", "the public `KEY` that is revoked, where the hub does not know the host any more, or by another key")
	return c
}

func (s Surroundings) revoke(ctx context.Context, at func() (string, error), q protocol.Revoke) error {
	var a protocol.Revoked
	if err := s.byPerson(ctx, "revoke host "+q.Host); err != nil {
		return err
	}
	f, err := s.reach(ctx, at, protocol.RevokeSubject, q, &a)
	if err != nil {
		return err
	}
	if a.Kind == protocol.Unknown {
		return &api.Error{Kind: api.NotFound, Message: a.Why + ": if it joined before the hub lost its store, revoke its key, as the log of custos-hub says it",
			Hint: api.Typed("custos", "hub", "revoke", q.Host, "--key") + " KEY"}
	}
	if a.Kind != "" {
		return refusal(a.Refused)
	}
	lines := []string{"Host " + q.Host + " is revoked."}
	if a.Host.Revoked.IsZero() {
		lines = []string{"That key is revoked. Host " + q.Host + ", which has another one, goes on."}
	}
	if n := len(a.Nodes); n > 0 && n < f.Nodes {
		lines = append(lines, fmt.Sprintf("%d of %d nodes know it: %s. The others learn it when they are back.", n, f.Nodes, strings.Join(a.Nodes, ", ")))
	}
	return s.Show(a, lines, []api.Hint{{Command: "custos hub hosts", What: "who has joined"}})
}

func (s Surroundings) hostsCommand(at func() (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:     "hosts",
		Short:   "List the hosts that have joined, and those that are revoked",
		Long:    "hosts lists every host that has joined the hub, since when, and since when it is revoked.",
		Example: "  custos hub hosts\n  custos hub hosts --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return s.hosts(c.Context(), at) },
	}
}

func (s Surroundings) hosts(ctx context.Context, at func() (string, error)) error {
	var a protocol.HostList
	if _, err := s.reach(ctx, at, protocol.HostsSubject, struct{}{}, &a); err != nil {
		return err
	}
	if a.Kind != "" {
		return refusal(a.Refused)
	}
	return s.Show(a, hostLines(a), []api.Hint{{Command: "custos hub invite HOST", What: "let a host join"}})
}

func hostLines(a protocol.HostList) (lines []string) {
	day := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	for _, h := range a.Hosts {
		line := h.Name + ": joined " + day(h.Joined)
		if h.Joined.IsZero() {
			line = h.Name + ": joined before the hub lost its store"
		}
		if !h.Revoked.IsZero() {
			line += ", revoked " + day(h.Revoked)
		}
		lines = append(lines, line)
	}
	for _, key := range a.Damaged {
		lines = append(lines, key+": what is kept of it is damaged; invite it again with --replace")
	}
	if len(lines) == 0 {
		lines = []string{"No host has joined."}
	}
	return lines
}
