package mcp

import (
	"context"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"custos/internal/api"
)

// Ask puts one question to Custos, and returns its error. It finds Custos anew for each, so
// that a daemon that was restarted answers the next one.
type Ask func(context.Context, func(context.Context, *api.Client) error) error

const instructions = `Custos supervises this agent. Say when a step is done or failed, ask by mail instead of waiting, and hand over when your context runs out. A refusal says why; do not repeat it.`

// Serve answers the messages on in, one on each line, on out, until in ends. The error says
// why it ended otherwise.
func Serve(ctx context.Context, version string, ask Ask, in io.ReadCloser, out io.WriteCloser) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "custos", Version: version}, &sdk.ServerOptions{
		Instructions: instructions, Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	tools(s, ask)
	answers := &inTurn{WriteCloser: out}
	input := newLines(in, answers)
	if err := s.Run(ctx, &sdk.IOTransport{Reader: input, Writer: answers}); err != nil && !input.ended.Load() && ctx.Err() == nil {
		return fmt.Errorf("cannot go on answering an agent: %w", err)
	}
	return nil
}

// tool offers one question. What is asked are the fields of In; what is answered is a text.
func tool[In any](s *sdk.Server, ask Ask, name, says string, do func(context.Context, *api.Client, In) (string, error)) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: says}, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		var text string
		err := ask(ctx, func(ctx context.Context, c *api.Client) (err error) {
			text, err = do(ctx, c, in)
			return err
		})
		if err != nil {
			return nil, nil, err // it becomes the text of a result that is an error: the agent reads it
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
}
