package daemon

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"custos/internal/catalog"
	"custos/internal/fleet"
	"custos/internal/server"
	"custos/internal/sys/matrix"
	"custos/internal/sys/telegram"
)

// chatWait is how long a chat may take to say who Custos is.
const chatWait = 5 * time.Second

// askChats asks the chats who Custos is, all at once. Nothing is sent to people.
func (s *system) askChats(ctx context.Context) []server.Chat {
	out := make([]server.Chat, len(s.chats))
	var wg sync.WaitGroup
	for i, c := range s.chats {
		wg.Go(func() { out[i] = askChat(ctx, c) })
	}
	wg.Wait()
	return out
}

func askChat(ctx context.Context, c catalog.Chat) server.Chat {
	ctx, cancel := context.WithTimeout(ctx, chatWait)
	defer cancel()
	me, err := c.Me(ctx)
	if err == nil {
		err = c.MaySpeak(ctx)
	}
	if err != nil {
		return server.Chat{Name: c.Name, Err: fleet.Line(err.Error(), 200), Refused: isRefused(err)}
	}
	return server.Chat{Name: c.Name, Me: fleet.Line(me, 100)}
}

// isRefused tells a token that is not good from a place that does not answer.
func isRefused(err error) bool {
	if errors.Is(err, matrix.ErrBarred) || errors.Is(err, telegram.ErrBarred) {
		return true
	}
	var m *matrix.Error
	var t *telegram.Error
	code := 0
	switch {
	case errors.As(err, &m):
		code = m.Status
	case errors.As(err, &t):
		code = t.Code
	}
	return code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotFound
}
