package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askByTools starts "custos mcp" as the CLI of an agent does, by the client of the
// protocol's own SDK, and calls the tools that its standard input names: NAME JSON on each
// line. Without a line it lists them.
func askByTools() int {
	ctx := context.Background()
	custos := exec.Command("custos", "mcp")
	custos.Stderr = os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: custos}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	listed, _ := json.Marshal(tools)
	fmt.Printf("%d tools in %d bytes\n", len(tools.Tools), len(listed))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(called(ctx, s, lines.Text()))
	}
	return 0
}

// sayLines says the lines of its standard input to "custos mcp" as they are, and shows what
// that answers until the one with the id 2 came, or it ended.
func sayLines() int {
	custos := exec.Command("custos", "mcp")
	custos.Stderr = os.Stderr
	in, err1 := custos.StdinPipe()
	out, err2 := custos.StdoutPipe()
	if err := errors.Join(err1, err2, custos.Start()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go io.Copy(in, os.Stdin) // it stays open: a CLI that has closed it waits for nothing
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println(lines.Text())
		if strings.Contains(lines.Text(), `"id":2,`) {
			break
		}
	}
	if err := errors.Join(in.Close(), custos.Wait()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func called(ctx context.Context, s *mcp.ClientSession, line string) string {
	name, args, _ := strings.Cut(line, " ")
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		return name + " is no call: " + err.Error()
	}
	said := name + ": "
	if r.IsError {
		said = name + " refused: "
	}
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			said += text.Text
		}
	}
	return said
}
