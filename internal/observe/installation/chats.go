package installation

import (
	"context"
	"errors"
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
	err := c.MaySpeak(ctx) // first: it knows a refusal from a place that does not answer
	me := ""
	if err == nil {
		me, err = c.Me(ctx)
	}
	if err != nil {
		return doctor.Chat{Name: c.Name, Err: fleet.Line(err.Error(), 200), Refused: errors.Is(err, matrix.ErrBarred) || errors.Is(err, telegram.ErrBarred)}
	}
	return doctor.Chat{Name: c.Name, Me: fleet.Line(me, 100)}
}
