--  SPDX-License-Identifier: Apache-2.0
--  tasks.adb - Ada: tasks with rendezvous, a protected object and delays; an aborted task, a task
--  that overflows its stack, and an exception in a task
with Ada.Text_IO; use Ada.Text_IO;

procedure Tasks is
   protected Counter is
      procedure Add (N : Integer);
      entry Wait_For_All (Sum : out Integer);
   private
      Total : Integer := 0;
      Adds  : Natural := 0;
   end Counter;

   protected body Counter is
      procedure Add (N : Integer) is
      begin
         Total := Total + N;
         Adds := Adds + 1;
      end Add;

      entry Wait_For_All (Sum : out Integer) when Adds = 2000 is
      begin
         Sum := Total;
      end Wait_For_All;
   end Counter;

   task type Worker is
      entry Start (From : Integer);
   end Worker;

   task body Worker is
      First : Integer;
   begin
      accept Start (From : Integer) do
         First := From;
      end Start;
      for K in 1 .. 100 loop
         Counter.Add (First + K);
      end loop;
   end Worker;

   task Sleeper;

   task body Sleeper is
   begin
      delay 1000.0;
      Put_Line ("never");
   end Sleeper;

   task Deep is
      entry Ended (How : out Boolean);
   end Deep;

   task body Deep is
      Caught : Boolean := False;

      function Down (N : Integer) return Integer is
         Room : String (1 .. 10000) := (others => 'x');
      begin
         return Down (N + 1) + Character'Pos (Room (1 + N mod 10000));
      end Down;
   begin
      begin
         if Down (1) > 0 then
            Put_Line ("never");
         end if;
      exception
         when Storage_Error =>
            Caught := True;
      end;
      accept Ended (How : out Boolean) do
         How := Caught;
      end Ended;
   end Deep;

   Workers : array (1 .. 20) of Worker;
   Sum     : Integer;
   Caught  : Boolean;
begin
   for I in Workers'Range loop
      Workers (I).Start (I * 1000);
   end loop;
   Counter.Wait_For_All (Sum);
   Put_Line (Sum'Image);
   select
      delay 0.1;
      Put_Line ("in time");
   then abort
      delay 1000.0;
   end select;
   Deep.Ended (Caught);
   Put_Line (Caught'Image);
   abort Sleeper;
end Tasks;
