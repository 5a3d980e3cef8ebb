package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/hub/credential"
	"custos/internal/hub/wire"
)

// joined is what custos join has done, as JSON.
type joined struct {
	Host string   `json:"host"`
	URLs []string `json:"urls"`
	Dir  string   `json:"dir"`
}

// mostToken bytes are read of a token.
const mostToken = 64 << 10

// inviteBegins is how what custos hub invite prints begins, in the line before the token.
const inviteBegins = "Host "

func (s Surroundings) joinCommand() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:   "join TOKEN",
		Short: "Join a hub with a token that custos hub invite made",
		Long: `join makes the key of this host, which does not leave it, has the hub sign it, and keeps
what it takes to connect. A token is good for one host and once. With - for TOKEN it is read
from the standard input: on the command line others of this machine can see it while join runs.`,
		Example: "  custos join - < token\n  custos join custos-join-1.…",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return s.join(c.Context(), args[0], replace) },
	}
	c.Flags().BoolVar(&replace, "replace", false, "also where this host has joined a hub, which it leaves")
	return c
}

func (s Surroundings) join(ctx context.Context, text string, replace bool) error {
	if err := s.byPerson(ctx, "join a hub"); err != nil {
		return err
	}
	token, err := s.token(text)
	if err != nil {
		return &api.Error{Kind: api.BadInput, Message: err.Error(), Hint: "custos hub invite HOST"}
	}
	dir, err := s.Joined()
	if err != nil {
		return err
	}
	if err := mayJoin(dir, replace); err != nil {
		return err
	}
	ended := s.Doing("asking the hub")
	j, err := wire.Join(ctx, token)
	ended()
	if err != nil {
		return joinFailure(err)
	}
	if err := j.Save(dir); err != nil {
		return &api.Error{Kind: api.CannotLook, Hint: api.Typed("custos", "hub", "invite", j.Host, "--replace"),
			Message: fmt.Sprintf("the hub has let host %s in, but what it takes is not kept here, and the token is used up: %v", j.Host, err)}
	}
	return s.Show(joined{j.Host, j.URLs, dir}, []string{"This is host " + j.Host + " of the hub now."}, []api.Hint{{Command: "custos up", What: "have the daemon take part"}})
}

// token reads the token that was typed, or is given.
func (s Surroundings) token(text string) (credential.Token, error) {
	if text == "-" {
		all, err := s.tokenOf()
		if err != nil {
			return credential.Token{}, fmt.Errorf("cannot read the token: %w", err)
		}
		text = all
	}
	return credential.ReadToken(text)
}

// tokenOf reads the line of a token, without what custos hub invite prints before it, in as many lines as that takes.
func (s Surroundings) tokenOf() (string, error) {
	in := bufio.NewReader(io.LimitReader(s.In, mostToken))
	line, err := in.ReadString('\n')
	for isInvite := strings.HasPrefix(line, inviteBegins); isInvite && err == nil && !credential.IsToken(line); {
		line, err = in.ReadString('\n')
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// mayJoin says whether this host has joined no hub, and can keep that it has: a token is used up
// whether it could or not.
func mayJoin(dir string, replace bool) error {
	j, err := credential.Load(dir)
	switch {
	case replace, errors.Is(err, os.ErrNotExist):
	case errors.Is(err, credential.ErrOpen):
		return &api.Error{Kind: api.BadInput, Message: err.Error()}
	case err != nil:
		return &api.Error{Kind: api.BadInput, Message: err.Error(), Hint: "custos join TOKEN --replace"}
	default:
		return &api.Error{Kind: api.Changed, Message: "this machine is host " + j.Host + " of a hub already", Hint: "custos join TOKEN --replace"}
	}
	try := filepath.Join(dir, "try")
	if err := credential.WriteSecret(try, nil); err != nil {
		return &api.Error{Kind: api.CannotLook, Message: err.Error()}
	}
	return os.Remove(try)
}

// joinFailure is what went wrong, and what of the token is left.
func joinFailure(err error) error {
	if errors.Is(err, wire.ErrNotReached) {
		return &api.Error{Kind: api.Unreachable, Message: err.Error() + ": the token is not used up"}
	}
	if errors.Is(err, wire.ErrNoAnswer) {
		return &api.Error{Kind: api.Lost, Message: err.Error() + ": the token may be used up", Hint: "custos hub invite HOST --replace"}
	}
	return failure(err)
}
