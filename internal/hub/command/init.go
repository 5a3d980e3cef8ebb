package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
	"custos/internal/hub/folder"
)

// made is what custos hub init has made, as JSON.
type made struct {
	Dir   string     `json:"dir"`
	Nodes []madeNode `json:"nodes"`
}

type madeNode struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`
}

func (s Surroundings) initCommand(at func() (string, error)) *cobra.Command {
	var addresses, nodes []string
	c := &cobra.Command{
		Use:   "init",
		Short: "Make the folder of a hub: its keys, certificates and configuration",
		Long: `init makes a hub in a folder that is missing or empty. Without --address it listens on
this machine alone. With --node, once for each, it has several nodes, of which three go
on when one fails; the folder of each lies beneath, by its name, and is to be brought to
its machine. Certificates are good for ten years. The folder has the keys of the hub.`,
		Example: "  custos hub init\n  custos hub init --address hub.example.com,10.0.0.1:4222\n  custos hub init --node a=10.0.0.1 --node b=10.0.0.2 --node c=10.0.0.3",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return s.init(at, addresses, nodes) },
	}
	c.Flags().StringSliceVar(&addresses, "address", nil, "where hosts reach the one node: `HOST[:PORT],…`")
	c.Flags().StringArrayVar(&nodes, "node", nil, "one node of several and where it is reached: `NAME=HOST[:PORT],…`; may be repeated")
	c.MarkFlagsMutuallyExclusive("address", "node")
	return c
}

func (s Surroundings) init(at func() (string, error), addresses, nodes []string) error {
	dir, err := at()
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return failure(err)
	}
	list := []folder.Node{{Name: "hub", Addresses: addresses}}
	if len(nodes) > 0 {
		if list, err = parseNodes(nodes); err != nil {
			return &api.Error{Kind: api.BadInput, Message: err.Error()}
		}
	}
	dirs, err := folder.Init(dir, list, s.Now())
	if errors.Is(err, folder.ErrNotEmpty) {
		return &api.Error{Kind: api.BadInput, Message: err.Error(), Hint: "custos hub init --dir DIR"}
	}
	if err != nil {
		return &api.Error{Kind: api.BadInput, Message: err.Error()}
	}
	out := made{Dir: dir}
	for i, n := range list {
		out.Nodes = append(out.Nodes, madeNode{n.Name, dirs[i]})
	}
	return s.Show(out, madeLines(out), madeNext(out))
}

// parseNodes reads NAME=HOST[:PORT],….
func parseNodes(texts []string) (out []folder.Node, err error) {
	for _, text := range texts {
		name, addresses, ok := strings.Cut(text, "=")
		if !ok || name == "" || addresses == "" {
			return nil, fmt.Errorf("--node %q: want NAME=HOST[:PORT]", text)
		}
		out = append(out, folder.Node{Name: name, Addresses: strings.Split(addresses, ",")})
	}
	return out, nil
}

func madeLines(m made) []string {
	lines := []string{"The hub is made in " + m.Dir + "; keep its files to yourself."}
	if len(m.Nodes) > 1 {
		for _, n := range m.Nodes {
			lines = append(lines, "  node "+n.Name+": bring "+n.Dir+" to its machine")
		}
	}
	return lines
}

func madeNext(m made) []api.Hint {
	at := m.Nodes[0].Dir
	what := "run it; it stays in the foreground"
	if len(m.Nodes) > 1 {
		what = "run node " + m.Nodes[0].Name + " on its machine, and the others on theirs"
	}
	return []api.Hint{{Command: api.Typed("custos-hub", "--dir", at), What: what}, {Command: api.Typed("custos", "hub", "invite", "--dir", at) + " HOST", What: "let a host join"}}
}
