package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"custos/internal/api"
)

// lines are the messages that an agent sends, one on each line. The SDK ends at the first
// that is none, and with it all tools of the agent: such a line is answered here, and the
// next one is read.
type lines struct {
	io.Closer
	in    *bufio.Reader
	out   io.Writer
	rest  []byte // of a message, that was not read yet
	ended atomic.Bool
}

func newLines(in io.ReadCloser, out io.Writer) *lines {
	return &lines{Closer: in, in: bufio.NewReader(in), out: out}
}

// Read gives what is a message. That its input has ended, it knows afterwards: then the
// agent is gone, which is no error, whatever the server makes of it.
func (l *lines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.in.ReadBytes('\n')
		if err != nil { // who tore its last line does not wait for an answer
			l.ended.Store(errors.Is(err, io.EOF))
			return 0, err
		}
		if l.rest, err = l.message(line); err != nil {
			return 0, err
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// message is a line that is one; of any other, it says so.
func (l *lines) message(line []byte) ([]byte, error) {
	text := bytes.TrimSpace(line)
	_, err := jsonrpc.DecodeMessage(text)
	switch {
	case len(text) == 0:
		return nil, nil
	case api.BrokenAt(string(text)) >= 0:
		return nil, l.refuse(jsonrpc.CodeParseError, fmt.Sprintf("this line is not UTF-8 from its byte %d on", api.BrokenAt(string(line))+1))
	case !json.Valid(text):
		return nil, l.refuse(jsonrpc.CodeParseError, "this line is no JSON: a message is one line")
	case err != nil:
		return nil, l.refuse(jsonrpc.CodeInvalidRequest, "this line is not one message of JSON-RPC 2.0")
	}
	return line, nil
}

func (l *lines) refuse(code int, why string) error {
	said, err := json.Marshal(why)
	if err == nil {
		_, err = fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code, said)
	}
	return err
}

// inTurn has one write after the other.
type inTurn struct {
	io.WriteCloser
	turn sync.Mutex
}

func (w *inTurn) Write(b []byte) (int, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	return w.WriteCloser.Write(b)
}
