package installation

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/report"
	"custos/internal/sys/matrix"
	"custos/internal/sys/telegram"
)

// chatWait is how long a chat may take to say who Custos is.
const chatWait = 5 * time.Second

// askChats asks the chats who Custos is, all at once. Nothing is sent to people.
func askChats(ctx context.Context, chats []report.Chat) []doctor.Chat {
	out := make([]doctor.Chat, len(chats))
	var wg sync.WaitGroup
	for i, c := range chats {
		wg.Go(func() { out[i] = askChat(ctx, c) })
	}
	wg.Wait()
	return out
}

func askChat(ctx context.Context, c report.Chat) doctor.Chat {
	ctx, cancel := context.WithTimeout(ctx, chatWait)
	defer cancel()
	me, err := c.Me(ctx)
	if err == nil {
		err = c.MaySpeak(ctx)
	}
	if err != nil {
		return doctor.Chat{Name: c.Name, Err: fleet.Line(err.Error(), 200), Refused: isRefused(err)}
	}
	return doctor.Chat{Name: c.Name, Me: fleet.Line(me, 100)}
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
