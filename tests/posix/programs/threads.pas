{ SPDX-License-Identifier: Apache-2.0 }
{ threads.pas - Free Pascal: threads of its runtime, critical sections, events }
program threads;
{$mode objfpc}
uses cthreads, classes, syncobjs, sysutils;
type
	TAdder = class(TThread)
		procedure Execute; override;
	end;
var
	section: TCriticalSection;
	go: TEvent;
	sum: longint = 0;
	all: array[1..30] of TAdder;
	i: integer;
threadvar
	own: longint;

procedure TAdder.Execute;
var
	k: integer;
	s: ansistring;
begin
	go.WaitFor(INFINITE);
	own := 0;
	for k := 1 to 1000 do begin
		inc(own);
		s := IntToStr(k);
		section.Acquire;
		sum := sum + length(s);
		section.Release;
	end;
	try
		raise Exception.Create('one');
	except
		on e: Exception do begin
			section.Acquire;
			sum := sum + own;
			section.Release;
		end;
	end;
end;

begin
	section := TCriticalSection.Create;
	go := TEvent.Create(nil, true, false, '');
	for i := 1 to 30 do
		all[i] := TAdder.Create(false);
	Sleep(50);
	go.SetEvent;
	for i := 1 to 30 do
		all[i].WaitFor;
	writeln(sum);
end.
