package gatewaycmd

import (
	"context"
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/host"
)

// manyRuns has more runs than are listed; the oldest waits.
type manyRuns struct{ host.Runtime }

func (manyRuns) Runs(_ context.Context, q host.RunQuery) ([]host.RunInfo, error) {
	var list []host.RunInfo
	for n := mostRuns + 1; n >= 0; n-- {
		run := host.RunInfo{ID: fmt.Sprint(n), State: host.RunCompleted}
		if n == 0 || n == mostRuns {
			run.State = host.RunWaiting
		}
		if (!q.Open || run.State == host.RunWaiting) && len(list) < q.Limit {
			list = append(list, run)
		}
	}
	return list, nil
}

// A run that waits is listed, however many came after it.
func TestGatewayListsWhatWaits(t *testing.T) {
	r := newGatewayRuns(manyRuns{}, zerolog.Nop(), true)
	defer r.close()
	list, err := r.List(t.Context())
	if err != nil || len(list) != mostRuns+1 || list[0].ID != fmt.Sprint(mostRuns+1) || list[mostRuns].ID != "0" || list[mostRuns].Status != "waiting" {
		t.Errorf("%v, %d runs, the last %+v", err, len(list), list[len(list)-1])
	}
}
